import { readFileSync } from "node:fs";
import { isSection } from "#config/config-file.ts";
import type { Invalid } from "#config/problem.ts";
import type { ChatRequest } from "#domain/chat.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";

/** The input of `route`. */
export type RouteInput =
  /** A task somebody has stated, as `POST /v1/route/decision` takes it. */
  | { readonly kind: "task"; readonly body: Readonly<Record<string, unknown>>; readonly name: string }
  /** A chat request, to be assessed as `POST /v1/chat/completions` does. `name`: where it comes from, as problems name it. */
  | { readonly kind: "chat"; readonly request: ChatRequest; readonly name: string }
  | Invalid;

/** The limit of JSON values: more than a long conversation has. */
export const maxValues = 5_000_000;

/** Text is a message of the user; JSON is a task if it has a `task`, else a chat body, of which a list of messages is enough. */
export function readInput(words: string, file: string | undefined): RouteInput {
  if (file !== undefined && words !== "") return complaint("arguments", "both words and --file: give one of them");
  const path = file ?? (words === "-" ? "-" : undefined);
  if (path === undefined && words.trim() === "") {
    const suggestion = 'say what is asked for: smart-gateway route "fix the login", or --file';
    return complaint("arguments", "nothing to decide about", suggestion);
  }
  if (path === undefined) return parseChat(userSays(words), "arguments");
  const name = path === "-" ? "standard input" : path;
  let text: string;
  try {
    text = readFileSync(path === "-" ? 0 : path, "utf8");
  } catch {
    return complaint(name, "cannot be read", "check --file");
  }
  if (text.trim() === "") return complaint(name, "is empty");
  if (!/^\s*[{[]/.test(text)) return parseChat(userSays(text), name);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return complaint(name, "is not valid JSON", "give a chat body, a list of messages or {task, runtime}");
  }
  if (isSection(document) && ("task" in document || "runtime" in document)) {
    return { kind: "task", body: document, name };
  }
  return parseChat(isSection(document) ? document : { messages: document }, name);
}

function parseChat(body: object, name: string): RouteInput {
  const bytes = Buffer.from(JSON.stringify({ model: "smart-router", ...body }));
  const parsed = parseChatRequest({ bytes, maxValues, headers: new Headers(), requestId: "cli", receivedAtMs: 0 });
  return parsed.kind === "refused" ? complaint(name, parsed.detail) : { kind: "chat", request: parsed.request, name };
}

function userSays(content: string) {
  return { messages: [{ role: "user", content }] };
}

function complaint(file: string, message: string, suggestion?: string): Invalid {
  return {
    kind: "invalid",
    problems: [{ file, path: "", message, ...(suggestion === undefined ? {} : { suggestion }) }],
  };
}
