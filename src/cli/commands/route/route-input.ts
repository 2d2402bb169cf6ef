import { existsSync, readFileSync } from "node:fs";
import { parseConfig } from "#config/config-file.ts";
import type { Invalid, Problem } from "#config/problem.ts";
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
  const name = (file ?? argument) === "-" ? "standard input" : (file ?? "arguments");
  let text = argument === "-" ? readFileSync(0, "utf8") : argument;
  let fromFile: string | undefined;
  if (file !== undefined) {
    try {
      fromFile = readFileSync(file === "-" ? 0 : file, "utf8");
    } catch {
      return complaint(name, "cannot be read", "check --file");
    }
  } else if (argument === "-") {
    [fromFile, text] = [text, undefined];
  }
  const wrong = problemsOfFlags(stated);
  if (wrong !== undefined) return wrong;
  if (fromFile === undefined) {
    if (text === undefined || text.trim() === "") {
      return complaint(
        "arguments",
        "nothing to decide about",
        'say what is asked for: smart-gateway route "fix the login", or --file',
      );
    }
    const path = text.replace(/^@/, "");
    if (!/\s/.test(path) && existsSync(path)) {
      return complaint(
        "arguments",
        `${path} is the name of a file here, no ask`,
        `to route what it holds: --file ${path}`,
      );
    }
    return chat([[userSays(text)]], {}, name, stated);
  }
  return documentIn(fromFile, name, text, stated);
}

function documentIn(document: string, name: string, instruction: string | undefined, stated: Stated): RouteInput {
  const start = document.trimStart()[0];
  const said = instruction === undefined ? [] : [userSays(instruction)];
  if (start !== "{" && start !== "[") {
    if (document.trim() === "") return complaint(name, "is empty");
    return chat([[userSays(document), ...said]], {}, name, stated);
  }
  const value = jsonIn(document) ?? linesIn(document);
  if (value === undefined)
    return complaint(name, whyInvalid(document), "give a chat body, a list of messages, or one message a line");
  if (Array.isArray(value)) return chat(turnsOf([...value, ...said]), {}, name, stated);
  const body = value as Record<string, unknown>; // begins with a brace
  // A transcript of one line.
  if (typeof body["role"] === "string") return chat(turnsOf([body, ...said]), {}, name, stated);
  if (Array.isArray(body["messages"])) {
    return chat([[...body["messages"], ...said]], body, name, stated);
  }
  // Of a chat body that lacks its messages, or has others, the check of bodies says so.
  if (body["task"] === undefined && (body["messages"] !== undefined || body["model"] !== undefined)) {
    return chat([body["messages"] as []], body, name, stated);
  }
  if (instruction === undefined && !("task" in body || "runtime" in body)) {
    return complaint(
      name,
      "has neither messages nor a task",
      "give a chat body, a list of messages or {task, runtime}",
    );
  }
  return taskIn(document, body, name, instruction, stated);
}

function taskIn(
  document: string,
  body: Record<string, unknown>,
  name: string,
  instruction: string | undefined,
  stated: Stated,
): RouteInput {
  const parsed = parseConfig(document, name);
  if (parsed.kind === "invalid") return parsed;
  const task = {
    ...section(body["task"]),
    ...(instruction === undefined ? {} : { instruction }),
    ...stated.task,
  };
  const runtime = { ...section(body["runtime"]), ...stated.runtime };
  const checked = validate(DecisionRequest, parsed.document, { ...body, task, runtime });
  if (checked.kind === "invalid") return checked;
  return { kind: "task", task: checked.value.task, runtime: checked.value.runtime };
}

/** Flags are checked as fields of a task, whatever they go with. */
function problemsOfFlags({ task, runtime }: Stated): Invalid | undefined {
  const parsed = parseConfig("{}", "arguments");
  if (parsed.kind === "invalid") return parsed;
  const document = { ...parsed.document, lineOf: () => undefined };
  const checked = validate(DecisionRequest, document, {
    task: { task_id: "cli", instruction: "", ...task },
    runtime,
  });
  return checked.kind === "invalid" ? checked : undefined;
}

function chat(
  conversations: readonly (readonly unknown[])[],
  body: Record<string, unknown>,
  name: string,
  stated: Stated,
): RouteInput {
  if (conversations.length === 0) return complaint(name, "holds no message of a user");
  const requests: ChatRequest[] = [];
  for (const messages of conversations) {
    const text = JSON.stringify({ model: "smart-router", ...body, messages });
    const parsed = parseChatRequest({
      text,
      bytes: Buffer.byteLength(text),
      maxValues,
      headers: new Headers(),
      requestId: "cli",
      receivedAtMs: 0,
    });
    if (parsed.kind === "refused") return complaint(name, parsed.detail);
    requests.push(parsed.request);
  }
  return { kind: "chat", requests, stated, name };
}

/** The requests that a conversation was made of: each answer of the assistant had one, and so has what stands at the end. */
function turnsOf(messages: readonly unknown[]): (readonly unknown[])[] {
  const turns: (readonly unknown[])[] = [];
  const roleAt = (at: number) => section(messages[at])["role"];
  let asked = false;
  for (let at = 0; at < messages.length; at++) {
    if (roleAt(at) === "assistant" && asked) turns.push(messages.slice(0, at));
    asked ||= roleAt(at) === "user";
  }
  if (asked && roleAt(messages.length - 1) !== "assistant") turns.push(messages);
  return turns;
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
  return lines.length > 1 && values.every((value) => typeof value === "object" && value !== null) ? values : undefined;
}

function whyInvalid(document: string): string {
  const lines = document.split("\n");
  const wrong = lines.findIndex((line) => line.trim() !== "" && jsonIn(line) === undefined);
  const isTranscript = lines.slice(0, wrong).some((line) => line.trim() !== "" && jsonIn(line) !== undefined);
  return isTranscript ? `line ${wrong + 1} is not valid JSON` : "is not valid JSON";
}

function complaint(file: string, message: string, suggestion?: string): Invalid {
  const problem: Problem = { file, path: "", message, ...(suggestion === undefined ? {} : { suggestion }) };
  return { kind: "invalid", problems: [problem] };
}

function section(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}; // an object by the checks
}
