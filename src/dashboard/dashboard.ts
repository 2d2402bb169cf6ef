import { type Handler, jsonResponse } from "#http/endpoint.ts";
import { errorResponse, type HttpError } from "#http/errors.ts";
import type { BodiesInFlight } from "#http/limits/bodies-in-flight.ts";
import { readBody } from "#http/request/read-body.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { Clock, Timers } from "#platform/time.ts";
import { type AccessOptions, DashboardAccess, isEncrypted } from "./access/access.ts";
import { loginPage, loginStyle, nextPathOf } from "./access/login-page.ts";
import { securityHeaders } from "./access/security-headers.ts";
import { expiredCookie } from "./access/session-cookie.ts";
import { ApiRouter } from "./api/api-router.ts";
import type { ApiHandlers } from "./api/handlers.ts";
import { preloadLinks } from "./preload-links.ts";
import { StaticFiles } from "./static-files.ts";

export interface DashboardOptions extends Pick<AccessOptions, "token" | "allowedHosts"> {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly handlers: ApiHandlers;
  /** Where the built page is. */
  readonly assets: string;
}

const maxLoginBytes = 16_384;

/** Answers everything under `/dashboard`: the login, the page's files, the API. */
export function dashboardHandler(options: DashboardOptions, connection: ServerConnection): Handler {
  const { clock, timers, handlers, token, allowedHosts } = options;
  const { bodies } = connection;
  const access = new DashboardAccess({ token, allowedHosts, clock });
  const files = new StaticFiles(options.assets);
  const liftIdleTimeout = (request: Request) => connection.liftIdleTimeout(request);
  const api = new ApiRouter({ access, handlers, timers, bodies, liftIdleTimeout });

  return async (request, _, given) => {
    const common = { ...given, ...securityHeaders(request) };
    const url = new URL(request.url, "http://gateway");
    const path = pathBelow(url.pathname);
    const isRead = request.method === "GET" || request.method === "HEAD";
    const refuse = (error: HttpError) => errorResponse(error, request, { ...common, "cache-control": "no-store" });

    if (path === undefined) return refuse(otherPath);
    // What anybody may have: it says nothing about this gateway.
    if (isRead && path === "login.css") return text(loginStyle, "text/css; charset=utf-8", common, "no-cache");
    if (isRead && path.startsWith("assets/")) {
      const answer = files.answer(path.slice("assets/".length), request, common);
      return answer ?? refuse({ status: 404, detail: "The page has no such file.", code: "not_found" });
    }
    const address = connection.addressOf(request);
    const admission = access.admit(request, address);
    if (admission.kind === "refused") return refuse(admission.error);
    if (path === "login" && token !== undefined) {
      if (isRead) return loginAnswer(undefined, nextPathOf(url.searchParams.get("next")), common);
      if (request.method === "POST") return login(request, address, access, bodies, common);
    }
    if (path === "api" || path.startsWith("api/")) {
      if (admission.kind === "login_needed") return refuse(loginNeeded);
      if (path === "api/logout" && request.method === "POST") {
        const problem = access.writeProblem(request, admission.operator);
        if (problem !== undefined) return refuse(problem);
        const cookie = { "set-cookie": expiredCookie(isEncrypted(request)), "cache-control": "no-store" };
        return jsonResponse({ ok: true }, { ...common, ...cookie });
      }
      return api.answer(path.slice("api/".length), url.searchParams, request, admission.operator, common);
    }
    if (!isRead) {
      const detail = `The pages of the dashboard do not take ${request.method}; they take GET, HEAD.`;
      return refuse({ status: 405, detail, code: "method_not_allowed", headers: { allow: "GET, HEAD" } });
    }
    if (admission.kind === "login_needed") {
      const next = encodeURIComponent(`${url.pathname}${url.search}`);
      const headers = { ...common, location: `/dashboard/login?next=${next}`, "cache-control": "no-store" };
      return new Response(null, { status: 303, headers });
    }
    // The page finds out from the path what to show.
    const page = files.answer("index.html", request, { ...common, link: preloadLinks(url.searchParams) });
    return page ?? refuse({ status: 404, detail: "The page is not part of this installation.", code: "not_found" });
  };
}

/** The path below `/dashboard`; undefined where `..` segments lead elsewhere, which the router does not see. */
function pathBelow(pathname: string): string | undefined {
  if (pathname === "/dashboard") return "";
  return pathname.startsWith("/dashboard/") ? pathname.slice("/dashboard/".length) : undefined;
}

/** What is not served under its own path is not served at all, or rules of a proxy for `/dashboard` could be evaded. */
const otherPath: HttpError = {
  status: 404,
  detail: "There is nothing at this path. Write paths without . or .. segments.",
  code: "not_found",
};

const loginNeeded: HttpError = {
  status: 401,
  detail: "Sign in at /dashboard/login, or send `Authorization: Bearer <DASHBOARD_TOKEN>`.",
  code: "unauthorized",
  headers: { "www-authenticate": "Bearer" },
};

async function login(
  request: Request,
  address: string,
  access: DashboardAccess,
  bodies: BodiesInFlight,
  common: Record<string, string>,
): Promise<Response> {
  const body = await readBody(request, maxLoginBytes, bodies);
  if (body.kind === "refused") {
    const { status, headers } = body.error;
    const problem = status === 413 ? "The form is too large." : "The gateway is too busy. Try again shortly.";
    return loginAnswer(problem, "/dashboard", { ...common, ...headers }, status);
  }
  if (body.kind !== "ok") return loginAnswer("The form did not arrive.", "/dashboard", common, 422);
  body.held.release();
  const form = new URLSearchParams(body.text);
  const next = nextPathOf(form.get("next"));
  const result = access.login(request, address, form.get("token") ?? "", operatorName(form.get("name") ?? ""));
  if (typeof result !== "string")
    return loginAnswer(result.detail, next, { ...common, ...result.headers }, result.status);
  const headers = { ...common, location: next, "set-cookie": result, "cache-control": "no-store" };
  return new Response(null, { status: 303, headers });
}

/** The name for the audit log: harmless characters, and not many. */
function operatorName(text: string): string {
  const name = text
    .replace(/[^\p{L}\p{N} ._@-]/gu, "")
    .trim()
    .slice(0, 40);
  return name === "" ? "dashboard" : name;
}

function loginAnswer(
  problem: string | undefined,
  next: string,
  common: Record<string, string>,
  status = 200,
): Response {
  return text(loginPage(problem, next), "text/html; charset=utf-8", common, "no-store", status);
}

function text(body: string, type: string, common: Record<string, string>, cache: string, status = 200): Response {
  return new Response(body, { status, headers: { ...common, "content-type": type, "cache-control": cache } });
}
