import { join } from "node:path";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import { errorResponse, type HttpError } from "#http/errors.ts";
import { readBody } from "#http/request/read-body.ts";
import type { ServerConnection } from "#http/server-options.ts";
import { type AccessOptions, dashboardAccess, isEncrypted } from "./access/access.ts";
import { loginPage, loginStyle, nextPath, operatorName } from "./access/login.ts";
import { expiredCookie } from "./access/session-cookie.ts";
import { endpointSources } from "./api/endpoint-sources.ts";
import { ApiRouter } from "./api/router.ts";
import { budgetEndpoints } from "./endpoints/budgets.ts";
import { decisionEndpoints } from "./endpoints/decisions.ts";
import { holdEndpoints } from "./endpoints/holds.ts";
import { modelEndpoints } from "./endpoints/models.ts";
import { nowEndpoints } from "./endpoints/now.ts";
import { playgroundEndpoints } from "./endpoints/playground.ts";
import { policyEndpoints } from "./endpoints/policy.ts";
import type { DashboardSources } from "./sources.ts";
import { StaticFiles } from "./static-files.ts";

export interface DashboardOptions extends Pick<AccessOptions, "token" | "allowedHosts"> {
  readonly sources: DashboardSources;
}

const maxLoginBytes = 16_384;

/** Answers everything under `/dashboard`: the login, the page's files, the API. */
export function dashboardHandler(options: DashboardOptions, connection: ServerConnection): Handler {
  const { token, allowedHosts } = options;
  const sources = endpointSources(options.sources);
  const access = dashboardAccess({ token, allowedHosts, clock: sources.clock });
  const files = new StaticFiles(join(import.meta.dir, "assets"));
  const endpoints = {
    ...nowEndpoints(sources),
    ...decisionEndpoints(sources),
    ...budgetEndpoints(sources),
    ...holdEndpoints(sources),
    ...modelEndpoints(sources),
    ...policyEndpoints(sources),
    ...playgroundEndpoints(sources),
  };
  const api = new ApiRouter({ access, endpoints, timers: sources.timers, connection });

  const form = (problem: string | undefined, next: string, common: Record<string, string>, status = 200): Response => {
    const headers = { ...common, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    return new Response(loginPage(problem, next, `/dashboard/assets/${files.icon}`), { status, headers });
  };
  const login = async (request: Request, address: string, common: Record<string, string>): Promise<Response> => {
    const body = await readBody(request, maxLoginBytes, connection.bodies);
    if (body.kind === "refused") {
      const { status, headers } = body.error;
      const problem = status === 413 ? "The form is too large." : "The gateway is too busy. Try again shortly.";
      return form(problem, "/dashboard", { ...common, ...headers }, status);
    }
    if (body.kind !== "ok") return form("The form did not arrive.", "/dashboard", common, 422);
    body.held.release();
    const fields = new URLSearchParams(body.text);
    const next = nextPath(fields.get("next"));
    const result = access.login(request, address, fields.get("token") ?? "", operatorName(fields.get("name") ?? ""));
    if (typeof result !== "string") return form(result.detail, next, { ...common, ...result.headers }, result.status);
    return redirect(next, { ...common, "set-cookie": result });
  };

  return async (request, _, given) => {
    const common = { ...given, ...securityHeaders(request) };
    const url = new URL(request.url, "http://gateway");
    const path = pathBelow(url.pathname);
    const isRead = request.method === "GET" || request.method === "HEAD";
    const refuse = (error: HttpError) => errorResponse(error, request, { ...common, "cache-control": "no-store" });

    if (path === undefined)
      return refuse(notFound("There is nothing at this path. Write paths without . or .. segments."));
    // What anybody may have: it says nothing about this gateway.
    if (isRead && path === "login.css") {
      const headers = { ...common, "content-type": "text/css; charset=utf-8", "cache-control": "no-cache" };
      return new Response(loginStyle, { headers });
    }
    if (isRead && path.startsWith("assets/")) {
      const answer = files.answer(path.slice("assets/".length), request, common);
      return answer ?? refuse(notFound("The page has no such file."));
    }
    const address = connection.addressOf(request);
    const admission = access.admit(request, address);
    if (admission.kind === "refused") return refuse(admission.error);
    if (path === "login" && token !== undefined) {
      if (isRead) return form(undefined, nextPath(url.searchParams.get("next")), common);
      if (request.method === "POST") return login(request, address, common);
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
      return redirect(`/dashboard/login?next=${encodeURIComponent(`${url.pathname}${url.search}`)}`, common);
    }
    // The page finds out from the path what to show.
    const page = files.answer("index.html", request, { ...common, link: preloadLinks(url.searchParams) });
    return page ?? refuse(notFound("The page is not part of this installation."));
  };
}

/** The path below `/dashboard`; undefined where `..` segments lead elsewhere, or rules of a proxy for `/dashboard` could be evaded. */
function pathBelow(pathname: string): string | undefined {
  if (pathname === "/dashboard") return "";
  return pathname.startsWith("/dashboard/") ? pathname.slice("/dashboard/".length) : undefined;
}

function redirect(location: string, common: Record<string, string>): Response {
  return new Response(null, { status: 303, headers: { ...common, location, "cache-control": "no-store" } });
}

function notFound(detail: string): HttpError {
  return { status: 404, detail, code: "not_found" };
}

const loginNeeded: HttpError = {
  status: 401,
  detail: "Sign in at /dashboard/login, or send `Authorization: Bearer <DASHBOARD_TOKEN>`.",
  code: "unauthorized",
  headers: { "www-authenticate": "Bearer" },
};

/**
 * On every answer. A browser may run and show what comes from here, in no frame, and nothing inline. The referrer policy is
 * `same-origin` and not `no-referrer`: with that one a browser sends the login form with `Origin: null`.
 */
const always: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};
const withOpenerPolicy = { ...always, "cross-origin-opener-policy": "same-origin" };

/** A browser heeds the opener policy only over TLS or on loopback, where it sends `Sec-Fetch-Site`, and logs an error elsewhere. */
function securityHeaders(request: Request): Readonly<Record<string, string>> {
  return request.headers.has("sec-fetch-site") || isEncrypted(request) ? withOpenerPolicy : always;
}

/** The values of `range` in the page's URL; the first is the default. */
const rangeNames = ["24h", "1h", "6h", "today", "7d", "30d"];

/**
 * A `Link` header that makes browsers preload the data of every view while the page's script is still loading. The URLs must be
 * those that the script fetches (`dashboard/app.tsx`); otherwise the browser would fetch twice.
 */
function preloadLinks(search: URLSearchParams): string {
  const [from = Number.NaN, to = Number.NaN] = ["from_ms", "to_ms"].map((name) => {
    const text = search.get(name) ?? "";
    return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  });
  const range = rangeNames.find((name) => name === search.get("range")) ?? rangeNames[0];
  const query = from < to ? `from_ms=${from}&to_ms=${to}` : `range=${range}`;
  return ["session", `summary?${query}`]
    .map((read) => `</dashboard/api/${read}>; rel=preload; as=fetch; crossorigin`)
    .join(", ");
}
