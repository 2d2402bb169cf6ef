import { timingSafeEqual } from "node:crypto";

/** A signed-in browser. */
export interface Session {
  /** What the person called themselves at the login; for the audit log. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly expiresMs: number;
}

/** How long a login lasts. */
const sessionMs = 12 * 3_600_000;

const cookieName = "smart_gateway_dashboard";
/** A cookie of ours is far shorter; what is longer is not read. */
const maxCookieLength = 512;

/**
 * Sessions without a store: the cookie holds name and expiry, signed with a key that is made from the dashboard's token. So
 * every worker and node with the same token knows the session, and another token ends all of them.
 */
export class SessionCookies {
  readonly #key: Uint8Array;

  constructor(token: string) {
    this.#key = hmac(token, "smart-gateway dashboard session, version 1");
  }

  /** The `Set-Cookie` of a login. */
  issue(name: string, nowMs: number, secure: boolean): string {
    const expiresMs = nowMs + sessionMs;
    const payload = base64url(JSON.stringify([expiresMs, name, crypto.randomUUID()]));
    const value = `${payload}.${base64url(hmac(this.#key, payload))}`;
    return `${cookieName}=${value}; ${attributes(secure)}; Max-Age=${sessionMs / 1_000}`;
  }

  /** The session of a request; undefined without one that is signed and has not expired. */
  read(headers: Headers, nowMs: number): Session | undefined {
    for (const part of (headers.get("cookie") ?? "").split(";")) {
      const [name, value] = splitAt(part.trim(), "=");
      if (name !== cookieName || value.length > maxCookieLength) continue;
      const session = this.#verified(value);
      if (session !== undefined && session.expiresMs > nowMs && session.expiresMs <= nowMs + sessionMs) return session;
    }
    return undefined;
  }

  #verified(value: string): Session | undefined {
    const [payload, signature] = splitAt(value, ".");
    if (!isEqual(base64url(hmac(this.#key, payload)), signature)) return undefined;
    // Signed by us, so it is what `issue` wrote.
    const [expiresMs, name] = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as [number, string];
    return { expiresMs, name };
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

function base64url(data: string | Uint8Array): string {
  return Buffer.from(data as Uint8Array).toString("base64url");
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}
