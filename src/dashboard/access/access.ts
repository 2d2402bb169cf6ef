import { isLoopback } from "#config/host-names.ts";
import { Refusal } from "#dashboard/endpoint.ts";
import { errorOf } from "#domain/errors.ts";
import { originCheck, sameOriginProblem } from "#http/access/origin-check.ts";
import type { Operator } from "#operator/audit.ts";
import type { Clock } from "#platform/time.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import { LoginLimit } from "./login.ts";
import { expiredCookie, isEqual, SessionCookies } from "./session-cookie.ts";

export interface AccessOptions {
  /** `DASHBOARD_TOKEN`. */
  readonly token: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly clock: Clock;
  readonly ended: EndedSessions;
}

/** The header that a page of another origin cannot send without a preflight request. Its value does not matter. */
const csrfHeader = "x-smart-gateway-csrf";

const proxyHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/**
 * Who may come in. Without a token: callers of this machine, under a name of this machine, with no trace of a proxy.
 * With a token: whoever knows it, from wherever, because a proxy on this machine makes every caller look like one of
 * it.
 */
export function dashboardAccess({ token, allowedHosts, clock, ended }: AccessOptions) {
  const limit = new LoginLimit();
  const cookies = token === undefined ? undefined : new SessionCookies(token);
  const loopbackNames = originCheck({ host: "127.0.0.1", allowedHosts });

  const checkToken = (given: string, address: string): void => {
    // Always: whoever guesses must not lock out those who know it, and behind a proxy all have one address.
    if (isEqual(given, token ?? "")) return;
    const nowMs = clock.monotonic();
    const waitS = limit.waitS(address, nowMs);
    if (waitS > 0) throw new Refusal({ ...errorOf("too_many_logins"), retryAfterS: waitS });
    limit.failed(address, nowMs);
    throw new Refusal(errorOf("unauthorized.dashboard_token"));
  };

  return {
    /** Who sends this request, from the peer's `address`; undefined: a login is needed. Throws why they may not. */
    async admit(request: Request, address: string): Promise<Operator | undefined> {
      const { headers, method } = request;
      const isLocal = isLoopback(address) && !proxyHeaders.some((name) => headers.has(name));
      if (cookies === undefined && !isLocal) throw new Refusal(errorOf("dashboard_closed"));
      const foreign = cookies === undefined ? loopbackNames(request) : sameOriginProblem(request);
      if (foreign !== undefined) throw new Refusal(foreign);
      const isRead = method === "GET" || method === "HEAD";
      if (!isRead && !["same-origin", "none"].includes(headers.get("sec-fetch-site") ?? "none")) {
        throw new Refusal(errorOf("origin_not_allowed.write"));
      }
      if (cookies === undefined) return { name: "loopback", by: "loopback" };
      const bearer = /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
      if (bearer !== undefined) {
        checkToken(bearer, address);
        return { name: "dashboard token", by: "token" };
      }
      const session = cookies.read(headers, clock.now());
      if (session === undefined || (await ended.has(session.id))) return undefined;
      return { name: session.name, by: "session" };
    },

    /** Ends the session of this request, everywhere. The `Set-Cookie` that takes it out of its browser. */
    async logout(request: Request, operator: Operator): Promise<string> {
      const session = cookies?.read(request.headers, clock.now());
      if (session !== undefined) await ended.end(session.id, operator);
      return expiredCookie(isEncrypted(request));
    },

    /** Throws why this caller may not change anything. */
    checkWrite({ headers }: Request, { by }: Operator): void {
      // No browser sends a bearer token by itself.
      if (by === "token" || headers.has(csrfHeader)) return;
      throw new Refusal(errorOf("csrf_header_missing", { header: csrfHeader }));
    },

    /** The `Set-Cookie` for a login with this token. Throws why there is none. */
    login(request: Request, address: string, given: string, name: string): string {
      if (cookies === undefined) throw new Refusal(errorOf("not_found.login"));
      checkToken(given, address);
      return cookies.issue(name, clock.now(), isEncrypted(request));
    },
  };
}

/** Whether the browser speaks TLS with the proxy before us. Whoever lies about it harms only their own cookie. */
export function isEncrypted({ headers }: Request): boolean {
  const proto = headers.get("x-forwarded-proto") ?? /proto="?(\w+)/i.exec(headers.get("forwarded") ?? "")?.[1] ?? "";
  return /^https\b/i.test(proto) || (headers.get("origin") ?? "").startsWith("https://");
}
