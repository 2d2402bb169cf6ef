import type { ToolCall } from "#pipeline/assess/envelope/conversation-types.ts";
import { changesFiles } from "./tools.ts";

/** Distinct files are counted up to here: the hard rule's trigger lies far below. */
const filesCounted = 200;
const pathInArguments =
  /["<](?:path|file_?path|file_?name|target_?file|absolute_?path|relative_?path|file|uri|new_path)(?:"\s*:\s*"|>)\s*([^"<\n]{1,300})/gi;
const pathInPatch = /\*\*\* (?:Update|Add|Delete) File: ([^\n\\]{1,300})/g;

/** Distinct files that edit-like calls named. */
export function filesTouchedBy(calls: readonly ToolCall[]): number {
  const paths = new Set<string>();
  for (const { name, args } of calls) {
    if (paths.size >= filesCounted || !changesFiles(name)) continue;
    // The path stands before or after the new text, which may be long.
    const shown = args.length <= 1_200 ? args : `${args.slice(0, 600)}\n${args.slice(-600)}`;
    const inPatch = args.includes("*** ") ? args.slice(0, 40_000).matchAll(pathInPatch) : [];
    for (const [, path = ""] of inPatch) paths.add(path.trim());
    for (const [, path = ""] of shown.matchAll(pathInArguments)) paths.add(path.trim());
  }
  return Math.min(paths.size, filesCounted);
}
