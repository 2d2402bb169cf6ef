import { isLoopback } from "#config/host-names.ts";
import { originCheck, sameOriginProblem } from "#http/access/origin-check.ts";
import type { HttpError } from "#http/errors.ts";
import type { Clock } from "#platform/time.ts";
import { LoginLimit } from "./login.ts";
import { isEqual, SessionCookies } from "./session-cookie.ts";

/** Who uses the dashboard. */
export interface Operator {
  /** What the audit log names. */
  readonly name: string;
  /** `loopback`: a program of this machine, no token is set. `session`: a login. `token`: the token itself, as a bearer. */
  readonly by: "loopback" | "session" | "token";
}

export type Admission =
  | { readonly kind: "admitted"; readonly operator: Operator }
  | { readonly kind: "login_needed" }
  | { readonly kind: "refused"; readonly error: HttpError };

export interface AccessOptions {
  /** `DASHBOARD_TOKEN`. */
  readonly token: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly clock: Clock;
}

/** The header that a page of another origin cannot send without a preflight request. Its value does not matter. */
export const csrfHeader = "x-smart-gateway-csrf";

/**
 * Who may come in. Without a token: callers of this machine, under a name of this machine, with no trace of a proxy. With a
 * token: whoever knows it, from wherever, because a proxy on this machine makes every caller look like one of it.
 */
export class DashboardAccess {
  readonly #options: AccessOptions;
  readonly #limit = new LoginLimit();
  readonly #cookies: SessionCookies | undefined;
  readonly #loopbackNames: ReturnType<typeof originCheck>;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#cookies = options.token === undefined ? undefined : new SessionCookies(options.token);
    this.#loopbackNames = originCheck({ host: "127.0.0.1", allowedHosts: options.allowedHosts });
  }

  /** `address`: of the peer, as the socket has it. */
  admit(request: Request, address: string): Admission {
    const { headers } = request;
    const foreign = sameOriginProblem(headers) ?? crossSiteProblem(headers, request.method);
    if (foreign !== undefined) return { kind: "refused", error: foreign };
    if (this.#cookies === undefined) return this.#ofThisMachine(headers, address);
    const bearer = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined) {
      const wrong = this.#tokenProblem(bearer, address);
      if (wrong !== undefined) return { kind: "refused", error: wrong };
      return { kind: "admitted", operator: { name: "dashboard token", by: "token" } };
    }
    const name = this.#cookies.read(headers, this.#options.clock.now());
    return name === undefined ? { kind: "login_needed" } : { kind: "admitted", operator: { name, by: "session" } };
  }

  /** Why this caller may not change anything now; undefined when it may. */
  writeProblem(request: Request, { by }: Operator): HttpError | undefined {
    // No browser sends a bearer token by itself.
    if (by === "token" || request.headers.has(csrfHeader)) return undefined;
    const detail = `Writes need the header ${csrfHeader}: 1, so that no page of another origin can make them.`;
    return { status: 403, detail, code: "csrf_header_missing" };
  }

  /** The `Set-Cookie` for a login with this token, or why there is none. */
  login(request: Request, address: string, token: string, name: string): string | HttpError {
    if (this.#cookies === undefined) {
      return { status: 404, detail: "There is no login: DASHBOARD_TOKEN is not set.", code: "not_found" };
    }
    const wrong = this.#tokenProblem(token, address);
    return wrong ?? this.#cookies.issue(name, this.#options.clock.now(), isEncrypted(request));
  }

  #ofThisMachine(headers: Headers, address: string): Admission {
    const forwarded = proxyHeaders.some((name) => headers.has(name));
    if (!isLoopback(address) || forwarded) return { kind: "refused", error: closed };
    const problem = this.#loopbackNames(headers);
    return problem === undefined
      ? { kind: "admitted", operator: { name: "loopback", by: "loopback" } }
      : { kind: "refused", error: problem };
  }

  #tokenProblem(given: string, address: string): HttpError | undefined {
    const nowMs = this.#options.clock.monotonic();
    const waitS = this.#limit.waitS(address, nowMs);
    if (waitS > 0) {
      const detail = "Too many wrong dashboard tokens. Wait, then try again.";
      return { status: 429, detail, code: "too_many_logins", headers: { "retry-after": String(waitS) } };
    }
    if (isEqual(given, this.#options.token ?? "")) return undefined;
    this.#limit.failed(address, nowMs);
    const detail = "This is not the dashboard's token (DASHBOARD_TOKEN).";
    return { status: 401, detail, code: "unauthorized", headers: { "www-authenticate": "Bearer" } };
  }
}

/** Whether the browser speaks TLS with the proxy before us. Whoever lies about it harms only their own cookie. */
export function isEncrypted({ headers }: Request): boolean {
  const proto = headers.get("x-forwarded-proto") ?? /proto="?(\w+)/i.exec(headers.get("forwarded") ?? "")?.[1] ?? "";
  return /^https\b/i.test(proto) || (headers.get("origin") ?? "").startsWith("https://");
}

const proxyHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

const closed: HttpError = {
  status: 403,
  detail:
    "The dashboard answers callers of this machine only, until DASHBOARD_TOKEN is set: set it and restart, then sign in with it.",
  code: "dashboard_closed",
};

/** Whether a browser sent the request from the dashboard's own pages, by the headers that browsers set. Writes need that. */
function crossSiteProblem(headers: Headers, method: string): HttpError | undefined {
  const site = headers.get("sec-fetch-site");
  if (method === "GET" || method === "HEAD" || site === null || site === "same-origin" || site === "none")
    return undefined;
  return { status: 403, detail: "Pages of other origins may not write here.", code: "origin_not_allowed" };
}
