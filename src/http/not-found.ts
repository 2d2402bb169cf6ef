import { type CallerError, errorOf } from "#domain/errors.ts";
import type { EndpointTable } from "./endpoint.ts";
import { decisionRecordPath } from "./endpoints/decision-record.ts";
import type { HttpError } from "./errors.ts";

/** The error for a request that no endpoint takes: 404, or 405 for another method. */
export function notFound(request: Request, table: EndpointTable): HttpError {
  // Without a `Host` (HTTP/1.0) there is only a path.
  const path = URL.parse(request.url, "http://gateway")?.pathname ?? "";
  const known = /^\/v1\/route\/decisions\/./.test(path) ? decisionRecordPath : path;
  const endpoint = Object.hasOwn(table, known) ? table[known] : undefined;
  if (endpoint === undefined) return nothingAt(path, table);
  const allow = endpoint.method === "GET" ? "GET, HEAD" : endpoint.method;
  // The router compares what was sent. A path that only means the same is not served: it could evade a proxy's rules.
  if (allow.split(", ").includes(request.method)) return errorOf("not_found.segments", { path });
  const { method } = request;
  return { ...errorOf("method_not_allowed", { taker: "This path does", method, allow }), headers: { allow } };
}

/** With what to use instead, for the paths that clients with other settings ask for. */
function nothingAt(path: string, table: EndpointTable): CallerError {
  const plain = path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
  const api = otherApis[plain];
  if (api !== undefined) return errorOf("not_found.api", { api });
  if (plain === "/v1/embeddings") return errorOf("not_found.embeddings");
  if (plain.startsWith("/v1/models/")) return errorOf("not_found.models");
  // A base URL that lacks its /v1, has it twice, has a folder before it, or a slash too many.
  const meant = Object.keys(table).find((known) => known !== "/" && (plain.endsWith(known) || `/v1${plain}` === known));
  return meant === undefined ? errorOf("not_found") : errorOf("not_found.base_url", { path: meant });
}

const otherApis: Readonly<Record<string, string>> = {
  "/v1/responses": "The Responses API is",
  "/v1/messages": "The Anthropic Messages API is",
  "/v1/completions": "Legacy text completions are",
};
