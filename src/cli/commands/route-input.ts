import { readFileSync } from "node:fs";
import { isSection, parseConfig } from "#config/config-file.ts";
import type { Invalid } from "#config/problem.ts";
import { validate } from "#config/validate.ts";
import type { ChatRequest } from "#domain/chat.ts";
import { DecisionRequest, type RoutingTask, type RuntimeState } from "#domain/routing.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import type { Stated } from "#pipeline/dry-run.ts";

/** The input of `route`. */
export type RouteInput =
  /** A task somebody has stated, as `POST /v1/route/decision` takes it. */
  | { readonly kind: "task"; readonly task: RoutingTask; readonly runtime: RuntimeState }
  /** Chat requests of one conversation, oldest first: to be assessed as `POST /v1/chat/completions` does. */
  | {
      readonly kind: "chat";
      readonly requests: readonly ChatRequest[];
      readonly stated: Stated;
      /** Where they come from, as problems name it. */
      readonly name: string;
    }
  | Invalid;

/** The limit of JSON values: more than a long transcript has. */
const maxValues = 5_000_000;

/**
 * Reads the input. Text is a chat message; JSON is a task if it has a `task`, a chat body if it has `messages`, and a transcript if
 * it is a list of messages (also one message a line). Words beside a document are a further message of the user.
 */
export function readInput(argument: string | undefined, file: string | undefined, stated: Stated): RouteInput {
  // Flags are checked as fields of a task, whatever they go with.
  const flags = parseTask("{}", "arguments", { task: { task_id: "cli", instruction: "" } }, stated);
  if (flags.kind === "invalid") return flags;
  const path = file ?? (argument === "-" ? "-" : undefined);
  const words = argument === "-" ? undefined : argument;
  if (path === undefined) {
    if (words !== undefined && words.trim() !== "") return chat([[userSays(words)]], {}, "arguments", stated);
    const suggestion = 'say what is asked for: smart-gateway route "fix the login", or --file';
    return complaint("arguments", "nothing to decide about", suggestion);
  }
  const name = path === "-" ? "standard input" : path;
  let document: string;
  try {
    document = readFileSync(path === "-" ? 0 : path, "utf8");
  } catch {
    return complaint(name, "cannot be read", "check --file");
  }
  if (document.trim() === "") return complaint(name, "is empty");
  const said = words === undefined ? [] : [userSays(words)];
  if (!/^\s*[{[]/.test(document)) return chat([[userSays(document), ...said]], {}, name, stated);
  const value = jsonIn(document) ?? linesIn(document);
  if (value === undefined) {
    return complaint(name, "is not valid JSON", "give a chat body, a list of messages, or one message a line");
  }
  const body = isSection(value) ? value : {};
  // A transcript may be of one line.
  if (Array.isArray(value) || "role" in body) return chat(turnsIn([value, ...said].flat()), {}, name, stated);
  if (Array.isArray(body["messages"])) return chat([[...body["messages"], ...said]], body, name, stated);
  // Of a chat body that lacks its messages, or has others, the check of bodies says so.
  if (body["task"] === undefined && ("messages" in body || "model" in body)) {
    return chat([body["messages"]], body, name, stated);
  }
  if (words === undefined && !("task" in body || "runtime" in body)) {
    const suggestion = "give a chat body, a list of messages or {task, runtime}";
    return complaint(name, "has neither messages nor a task", suggestion);
  }
  const { task, runtime } = stated;
  return parseTask(
    document,
    name,
    body,
    words === undefined ? stated : { task: { instruction: words, ...task }, runtime },
  );
}

function parseTask(text: string, name: string, body: Record<string, unknown>, stated: Stated): RouteInput {
  const parsed = parseConfig(text, name);
  if (parsed.kind === "invalid") return parsed;
  const checked = validate(DecisionRequest, parsed.document, {
    ...body,
    task: { ...(isSection(body["task"]) ? body["task"] : {}), ...stated.task },
    runtime: { ...(isSection(body["runtime"]) ? body["runtime"] : {}), ...stated.runtime },
  });
  return checked.kind === "invalid" ? checked : { kind: "task", ...checked.value };
}

function chat(conversations: readonly unknown[], body: object, name: string, stated: Stated): RouteInput {
  if (conversations.length === 0) return complaint(name, "holds no message of a user");
  const requests: ChatRequest[] = [];
  for (const messages of conversations) {
    const bytes = Buffer.from(JSON.stringify({ model: "smart-router", ...body, messages }));
    const headers = new Headers();
    const parsed = parseChatRequest({ bytes, maxValues, headers, requestId: "cli", receivedAtMs: 0 });
    if (parsed.kind === "refused") return complaint(name, parsed.detail);
    requests.push(parsed.request);
  }
  return { kind: "chat", requests, stated, name };
}

/** The requests that a conversation was made of: each answer of the assistant had one, and so has what stands at the end. */
function turnsIn(messages: readonly unknown[]): (readonly unknown[])[] {
  const roles = messages.map((message) => (isSection(message) ? message["role"] : undefined));
  const asked = roles.indexOf("user");
  if (asked === -1) return [];
  const ends = roles.flatMap((role, at) => (role === "assistant" && at > asked ? [at] : []));
  if (roles.at(-1) !== "assistant") ends.push(messages.length);
  return ends.map((end) => messages.slice(0, end));
}

function userSays(content: string) {
  return { role: "user", content };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function linesIn(text: string): unknown[] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const values = lines.map(jsonIn);
  return lines.length > 1 && values.every(isSection) ? values : undefined;
}

function complaint(file: string, message: string, suggestion?: string): Invalid {
  return {
    kind: "invalid",
    problems: [{ file, path: "", message, ...(suggestion === undefined ? {} : { suggestion }) }],
  };
}
