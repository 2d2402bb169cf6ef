import { readInput } from "#cli/options.ts";
import { badUsage, invalid } from "#cli/output.ts";
import { isSection } from "#config/config-file.ts";
import type { ChatRequest } from "#domain/chat.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";

/** The input of `route`. */
export type RouteInput =
  /** A task somebody has stated, as `POST /v1/route/decision` takes it. */
  | { readonly kind: "task"; readonly body: Readonly<Record<string, unknown>>; readonly name: string }
  /** A chat request, to be assessed as `POST /v1/chat/completions` does. `name`: where it comes from, as problems name it. */
  | { readonly kind: "chat"; readonly request: ChatRequest; readonly name: string };

/** The limit of JSON values: more than a long conversation has. */
export const maxValues = 5_000_000;

/** Text is a message of the user; JSON is a task if it has a `task`, else a chat body, of which a list of messages is enough. */
export function readRouteInput(words: string, file: string | undefined): RouteInput {
  if (file !== undefined && words !== "") throw badUsage("both words and --file: give one of them");
  const path = file ?? (words === "-" ? "-" : undefined);
  const [name, text] = path === undefined ? ["arguments", words] : [path, readInput(path, badUsage)];
  if (text.trim() === "") {
    throw badUsage('nothing to decide about: say what is asked for (smart-gateway route "fix the login"), or --file');
  }
  if (path === undefined || !/^\s*[{[]/.test(text)) return parseChat([{ role: "user", content: text }], name);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw badUsage(`${name} is not valid JSON: give a chat body, a list of messages or {task, runtime}`);
  }
  if (isSection(document) && ("task" in document || "runtime" in document)) {
    return { kind: "task", body: document, name };
  }
  return parseChat(document, name);
}

function parseChat(document: unknown, name: string): RouteInput {
  const body = isSection(document) ? document : { messages: document };
  const bytes = Buffer.from(JSON.stringify({ model: "smart-router", ...body }));
  const parsed = parseChatRequest({ bytes, maxValues, headers: new Headers(), requestId: "cli", receivedAtMs: 0 });
  if (parsed.kind === "refused") throw invalid([{ file: name, path: "", message: parsed.detail }]);
  return { kind: "chat", request: parsed.request, name };
}
