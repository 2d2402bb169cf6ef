import { readInput } from "#cli/options.ts";
import { badUsage } from "#cli/output.ts";
import { isSection } from "#config/config-file.ts";

/** The input of `route`. */
export type RouteInput =
  /** A task somebody has stated, as `POST /v1/route/decision` takes it. */
  | { readonly kind: "task"; readonly body: Readonly<Record<string, unknown>>; readonly name: string }
  /** A chat body, to be assessed as `POST /v1/chat/completions` does. */
  | { readonly kind: "chat"; readonly body: object };

/** Text is a message of the user; JSON is a task if it has a `task`, else a chat body, of which a list of messages is enough. */
export function readRouteInput(words: string, file: string | undefined): RouteInput {
  if (file !== undefined && words !== "") throw badUsage("both words and --file: give one of them");
  const path = file ?? (words === "-" ? "-" : undefined);
  const [name, text] = path === undefined ? ["arguments", words] : [path, readInput(path, badUsage)];
  if (text.trim() === "") {
    throw badUsage('nothing to decide about: say what is asked for (smart-gateway route "fix the login"), or --file');
  }
  if (path === undefined || !/^\s*[{[]/.test(text))
    return { kind: "chat", body: { messages: [{ role: "user", content: text }] } };
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw badUsage(`${name} is not valid JSON: give a chat body, a list of messages or {task, runtime}`);
  }
  if (isSection(document) && ("task" in document || "runtime" in document)) {
    return { kind: "task", body: document, name };
  }
  return { kind: "chat", body: isSection(document) ? document : { messages: document } };
}
