import { isObject, type Json, type JsonObject } from "#domain/chat.ts";

/** Where makers put the reason of an error, in it or around it; the most telling place first. */
const places: readonly string[] = [
  "metadata.raw", // OpenRouter: what the host has said, often as JSON in a text
  "error", // OpenAI, Anthropic, Google, most others: an object; a list at Hugging Face
  "errors", // Cloudflare, Cohere: a list
  "error_description", // OAuth servers, Databricks, with a code in `error`
  "detail", // FastAPI, vLLM: a list with `msg`, or a text; RFC 9457
  "message", // OpenAI, Anthropic, Google; an object with `detail` at Mistral; beside a title at Spring, Nest
  "msg", // FastAPI, Zhipu
  "error_msg", // Baidu
  "base_resp.status_msg", // MiniMax
  "fault.faultstring", // Apigee
  "type", // where nothing is said
  "code", // where nothing is said
];
/** Errors are not deeper in each other, and of a list so many are named. */
const [maxDepth, maxReasons] = [8, 5];
/** What is read of a text that is not JSON, in characters. */
const window = 2_400;

/** The innermost text that says why, in a JSON value or in a text that may be one; empty if there is none. */
export function reasonIn(value: Json | undefined, depth = 0): string {
  if (depth > maxDepth) return "";
  if (typeof value === "string") return reasonInText(value, depth);
  if (Array.isArray(value)) {
    const reasons = new Set(value.slice(0, maxReasons).map((item) => reasonIn(item, depth + 1)));
    return [...reasons].filter((reason) => reason !== "").join("; ");
  }
  if (!isObject(value)) return "";
  // Beside a sentence, a text under `error` is a code or a title.
  const title = typeof value["error"] === "string" ? reasonIn(value["error"], depth + 1) : "";
  for (const place of places) {
    if (title !== "" && place === "type") break;
    const found = place.split(".").reduce<Json | undefined>((at, name) => (isObject(at) ? at[name] : undefined), value);
    const reason = place === "error" && title !== "" ? "" : reasonIn(found, depth + 1);
    if (reason !== "") return reason;
  }
  return title;
}

function reasonInText(text: string, depth: number): string {
  // Of an event: some answer with one whatever the status.
  const [, data = ""] = /^\s*(?:event:[^\n]{0,80}\n)?(?:data|error): ?([^\n]*)/.exec(text) ?? [undefined, text.trim()];
  if (/^[[{"]/.test(data)) {
    try {
      return reasonIn(JSON.parse(data), depth + 1) || (depth === 0 ? "" : data.slice(0, window));
    } catch {
      // Cut off, mostly behind the reason: some repeat the whole request after it.
      const member = /"(?:raw|msg|message|detail|error_description|error)"\s*:\s*"((?:[^"\\]|\\.){1,1200})/.exec(data);
      if (member !== null) return (member[1] ?? "").replace(/\\[nrt]/g, " ").replace(/\\(["\\/])/g, "$1");
    }
  }
  // A page or plain text. Tags are noise.
  return data
    .slice(0, window)
    .replace(/<(style|script)\b[\s\S]*?(<\/\1>|$)|<[^<>]*>/gi, " ")
    .trim();
}

/** The error in an object: `error`, or the object itself where it says that it is one (vLLM, Mistral, Anthropic). */
export function errorMember(object: JsonObject): Json | undefined {
  if (!isEmpty(object["error"])) return object["error"];
  return object["object"] === "error" || object["type"] === "error" ? object : undefined;
}

/** Some send an empty error beside a good answer: `{}`, `[]`, or members without a value. */
function isEmpty(value: Json | undefined): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isEmpty);
  return value === undefined || value === null || value === false || value === "";
}

/** Whether a text is a web page: of a firewall or a proxy, not the aggregator's answer. */
export function isWebPage(text: string): boolean {
  return /^\s*<[!?a-z]/i.test(text);
}
