import { timingSafeEqual } from "node:crypto";

/** How long a login lasts. */
export const sessionMs = 12 * 3_600_000;

const cookieName = "smart_gateway_dashboard";

/**
 * Sessions without a store: the cookie holds name and expiry, signed with a key that is made from the dashboard's
 * token. So every node with the same token knows the session, and another token ends all. The audit log knows which
 * ones users have ended.
 */
export class SessionCookies {
  readonly #key: Uint8Array;

  constructor(token: string) {
    this.#key = hmac(token, "smart-gateway dashboard session, version 1");
  }

  /** The `Set-Cookie` of a login. `name`: what the person is called in the audit log. */
  issue(name: string, nowMs: number, secure: boolean): string {
    const payload = Buffer.from(JSON.stringify([nowMs + sessionMs, name, crypto.randomUUID()])).toString("base64url");
    return `${cookieName}=${payload}.${this.#signature(payload)}; ${attributes(secure)}; Max-Age=${sessionMs / 1_000}`;
  }

  /** The name and the id of a session that is signed and has not expired; undefined without one. */
  read(headers: Headers, nowMs: number): { readonly name: string; readonly id: string } | undefined {
    const cookie = new Bun.CookieMap(headers.get("cookie") ?? "").get(cookieName);
    const [payload = "", signature = ""] = cookie?.split(".") ?? [];
    if (!isEqual(this.#signature(payload), signature)) return undefined;
    // Signed by us, so it is what `issue` wrote.
    const [expiresMs, name, id] = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as [
      number,
      string,
      string,
    ];
    return expiresMs > nowMs && expiresMs <= nowMs + sessionMs ? { name, id } : undefined;
  }

  #signature(payload: string): string {
    return Buffer.from(hmac(this.#key, payload)).toString("base64url");
  }
}

/** The `Set-Cookie` that ends a session in its browser. */
export function expiredCookie(secure: boolean): string {
  return `${cookieName}=; ${attributes(secure)}; Max-Age=0`;
}

function attributes(secure: boolean): string {
  return `Path=/dashboard; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
}

/** Compares secrets in a time that tells nothing of how far they agree, nor how long they are. */
export function isEqual(given: string, expected: string): boolean {
  const key = crypto.getRandomValues(new Uint8Array(32));
  return timingSafeEqual(hmac(key, given), hmac(key, expected));
}

function hmac(key: string | Uint8Array, text: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", key).update(text).digest();
}
