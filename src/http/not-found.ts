import type { EndpointTable } from "./endpoint.ts";
import { decisionRecordPath } from "./endpoints/decision-record.ts";
import type { HttpError } from "./errors.ts";

/** The error for a request that no endpoint takes: 404, or 405 for another method. */
export function notFound(request: Request, table: EndpointTable): HttpError {
  // Without a `Host` (HTTP/1.0) there is only a path.
  const path = URL.parse(request.url, "http://gateway")?.pathname ?? "";
  const known = /^\/v1\/route\/decisions\/./.test(path) ? decisionRecordPath : path;
  const endpoint = Object.hasOwn(table, known) ? table[known] : undefined;
  if (endpoint === undefined) return { status: 404, detail: hintFor(path, table), code: "not_found" };
  const allow = endpoint.method === "GET" ? "GET, HEAD" : endpoint.method;
  if (allow.split(", ").includes(request.method)) {
    // The router compares what was sent; a path that only means the same is not served, or rules of a proxy could be evaded.
    return { status: 404, detail: `Write the path as ${path}, without . or .. segments.`, code: "not_found" };
  }
  return {
    status: 405,
    detail: `This path does not take ${request.method}; it takes ${allow}.`,
    code: "method_not_allowed",
    headers: { allow },
  };
}

/** What to use instead, for the paths that clients with other settings ask for. */
function hintFor(path: string, table: EndpointTable): string {
  const plain = path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
  const hint = hints[plain];
  if (hint !== undefined) return hint;
  if (plain.startsWith("/v1/models/")) return "Models are not served one by one. GET /v1/models lists them.";
  // A base URL that lacks its /v1, has it twice, has a folder before it, or a slash too many.
  const meant = Object.keys(table).find((known) => known !== "/" && (plain.endsWith(known) || `/v1${plain}` === known));
  return meant === undefined
    ? "There is nothing at this path. GET /openapi.json lists what there is."
    : `There is nothing at this path; use ${meant}. A client's base URL is this gateway's address and /v1, without a slash behind it.`;
}

const chatInstead =
  "Use POST /v1/chat/completions: set the client to an OpenAI-compatible provider with the Chat Completions API";
const hints: Readonly<Record<string, string>> = {
  "/v1/responses": `The Responses API is not served. ${chatInstead}.`,
  "/v1/messages": `The Anthropic Messages API is not served. ${chatInstead}.`,
  "/v1/completions": `Legacy text completions are not served. ${chatInstead}.`,
  "/v1/embeddings": "Embeddings are not served; this gateway routes chat completions only (POST /v1/chat/completions).",
};
