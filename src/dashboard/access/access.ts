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

export type DashboardAccess = ReturnType<typeof dashboardAccess>;

/** The header that a page of another origin cannot send without a preflight request. Its value does not matter. */
export const csrfHeader = "x-smart-gateway-csrf";

const proxyHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/**
 * Who may come in. Without a token: callers of this machine, under a name of this machine, with no trace of a proxy. With a
 * token: whoever knows it, from wherever, because a proxy on this machine makes every caller look like one of it.
 */
export function dashboardAccess({ token, allowedHosts, clock }: AccessOptions) {
  const limit = new LoginLimit();
  const cookies = token === undefined ? undefined : new SessionCookies(token);
  const loopbackNames = originCheck({ host: "127.0.0.1", allowedHosts });

  const tokenProblem = (given: string, address: string): HttpError | undefined => {
    const nowMs = clock.monotonic();
    const waitS = limit.waitS(address, nowMs);
    if (waitS > 0) {
      const detail = "Too many wrong dashboard tokens. Wait, then try again.";
      return { status: 429, detail, code: "too_many_logins", headers: { "retry-after": String(waitS) } };
    }
    if (isEqual(given, token ?? "")) return undefined;
    limit.failed(address, nowMs);
    const detail = "This is not the dashboard's token (DASHBOARD_TOKEN).";
    return { status: 401, detail, code: "unauthorized", headers: { "www-authenticate": "Bearer" } };
  };
  const machineProblem = (headers: Headers, address: string): HttpError | undefined =>
    !isLoopback(address) || proxyHeaders.some((name) => headers.has(name)) ? closed : loopbackNames(headers);
  const admitted = (error: HttpError | undefined, name: string, by: Operator["by"]): Admission =>
    error === undefined ? { kind: "admitted", operator: { name, by } } : { kind: "refused", error };

  return {
    /** `address`: of the peer, as the socket has it. */
    admit({ headers, method }: Request, address: string): Admission {
      const error = sameOriginProblem(headers) ?? crossSiteProblem(headers, method);
      if (error !== undefined) return { kind: "refused", error };
      if (cookies === undefined) return admitted(machineProblem(headers, address), "loopback", "loopback");
      const bearer = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
      if (bearer !== undefined) return admitted(tokenProblem(bearer, address), "dashboard token", "token");
      const name = cookies.read(headers, clock.now());
      return name === undefined ? { kind: "login_needed" } : admitted(undefined, name, "session");
    },

    /** Why this caller may not change anything now; undefined when it may. */
    writeProblem({ headers }: Request, { by }: Operator): HttpError | undefined {
      // No browser sends a bearer token by itself.
      if (by === "token" || headers.has(csrfHeader)) return undefined;
      const detail = `Writes need the header ${csrfHeader}: 1, so that no page of another origin can make them.`;
      return { status: 403, detail, code: "csrf_header_missing" };
    },

    /** The `Set-Cookie` for a login with this token, or why there is none. */
    login(request: Request, address: string, given: string, name: string): string | HttpError {
      if (cookies === undefined) {
        return { status: 404, detail: "There is no login: DASHBOARD_TOKEN is not set.", code: "not_found" };
      }
      return tokenProblem(given, address) ?? cookies.issue(name, clock.now(), isEncrypted(request));
    },
  };
}

/** Whether the browser speaks TLS with the proxy before us. Whoever lies about it harms only their own cookie. */
export function isEncrypted({ headers }: Request): boolean {
  const proto = headers.get("x-forwarded-proto") ?? /proto="?(\w+)/i.exec(headers.get("forwarded") ?? "")?.[1] ?? "";
  return /^https\b/i.test(proto) || (headers.get("origin") ?? "").startsWith("https://");
}

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
