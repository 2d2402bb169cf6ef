import { join } from "node:path";
import { errorOf } from "#domain/errors.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import { errorHeaders } from "#http/errors.ts";
import { readText } from "#http/request/read-body.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { OperatorSources } from "#operator/sources.ts";
import { type AccessOptions, dashboardAccess, isEncrypted } from "./access/access.ts";
import { endedSessions } from "./access/ended-sessions.ts";
import { nextPath, operatorName } from "./access/login.ts";
import { apiRouter, dashboardEndpoints } from "./api.ts";
import { Refusal, wrongMethod } from "./endpoint.ts";
import { staticFiles } from "./static-files.ts";

type Headers = Record<string, string>;

const maxLoginBytes = 16_384;

/** Answers everything under `/dashboard`: the login, the page's files, the API. */
export function dashboardHandler(
  sources: OperatorSources,
  { token, allowedHosts }: Pick<AccessOptions, "token" | "allowedHosts">,
  connection: ServerConnection,
): Handler {
  const access = dashboardAccess({ token, allowedHosts, clock: sources.clock, ended: endedSessions(sources) });
  const files = staticFiles(join(import.meta.dir, "assets"));
  const answerCall = apiRouter(dashboardEndpoints(sources), sources.timers, connection);

  /** The login page, with what is wrong with the login before it. */
  const form = (problem: string, next: string, common: Headers, status = 200): Response => {
    const alert = problem === "" ? "" : `<p class="failed" role="alert">${Bun.escapeHTML(problem)}</p>`;
    const html = files
      .text("login.html")
      .replace("{{problem}}", () => alert)
      .replace("{{next}}", () => Bun.escapeHTML(next));
    const headers = { ...common, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    return new Response(html, { status, headers });
  };
  const login = async (request: Request, address: string, common: Headers): Promise<Response> => {
    const text = await readText(request, maxLoginBytes, connection.bodies);
    if (typeof text !== "string") {
      return form("The form is too large, or did not arrive whole.", "/dashboard", common, text.status);
    }
    const fields = new URLSearchParams(text);
    const next = nextPath(fields.get("next"));
    try {
      const name = operatorName(fields.get("name") ?? "");
      const cookie = access.login(request, address, fields.get("token") ?? "", name);
      return redirect(next, { ...common, "set-cookie": cookie });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { detail, status } = error.error;
      return form(detail, next, { ...common, ...errorHeaders(error.error) }, status);
    }
  };

  const answer = async (request: Request, common: Headers): Promise<Response> => {
    const { pathname, search, searchParams } = new URL(request.url, "http://gateway");
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (pathname !== "/dashboard" && !pathname.startsWith("/dashboard/")) {
      // `..` segments lead elsewhere: rules of a proxy for `/dashboard` could be evaded.
      throw new Refusal(errorOf("not_found.segments", { path: pathname }));
    }
    const path = pathname.slice("/dashboard/".length);
    // The page's files may be had by anybody: they say nothing about this gateway.
    const [, asset] = /^assets\/(.*)$/.exec(path) ?? [];
    if (isRead && asset !== undefined) {
      const file = files.answer(asset, request, common);
      if (file === undefined)
        throw new Refusal(errorOf("not_found.dashboard", { problem: "The page has no such file." }));
      return file;
    }
    const address = connection.addressOf(request);
    const operator = await access.admit(request, address);
    if (path === "login" && token !== undefined && isRead) {
      return form("", nextPath(searchParams.get("next")), common);
    }
    if (path === "login" && token !== undefined && request.method === "POST") return login(request, address, common);
    const [, call] = /^api(?:\/(.*))?$/.exec(path) ?? [];
    if (call !== undefined) {
      if (operator === undefined) throw new Refusal(errorOf("unauthorized.login"));
      if (!isRead) access.checkWrite(request, operator);
      const headers = { ...common, "cache-control": "no-store" };
      if (call !== "logout" || request.method !== "POST") return answerCall(call, request, operator, headers);
      return jsonResponse({ ok: true }, { ...headers, "set-cookie": await access.logout(request, operator) });
    }
    if (!isRead) throw wrongMethod("A page of the dashboard does", request.method, ["GET", "HEAD"]);
    if (operator === undefined) {
      return redirect(`/dashboard/login?next=${encodeURIComponent(`${pathname}${search}`)}`, common);
    }
    // The page finds out from the path what to show.
    return (
      files.answer("index.html", request, common) ?? form("The page is not part of this installation.", "", common)
    );
  };

  return async (request, { headers: given }) => {
    const common = { ...given, ...securityHeaders(request) };
    try {
      return await answer(request, common);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const headers = { ...securityHeaders(request), "cache-control": "no-store", ...error.error.headers };
      return { ...error.error, headers };
    }
  };
}

function redirect(location: string, common: Headers): Response {
  return new Response(null, { status: 303, headers: { ...common, location, "cache-control": "no-store" } });
}

/**
 * On every answer. A browser may run and show what comes from here, in no frame, and nothing inline. The referrer
 * policy is `same-origin` and not `no-referrer`: with that one a browser sends the login form with `Origin: null`.
 */
const always: Readonly<Headers> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

/** A browser heeds the opener policy over TLS and on loopback, where it sends `Sec-Fetch-Site`; elsewhere it logs an error. */
function securityHeaders(request: Request): Readonly<Headers> {
  if (!request.headers.has("sec-fetch-site") && !isEncrypted(request)) return always;
  return { ...always, "cross-origin-opener-policy": "same-origin" };
}
