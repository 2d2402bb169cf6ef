import { hashOfText } from "#pipeline/assess/run-signals/text-hash.ts";
import type { ToolCall } from "./tool-call.ts";
import { changesFiles, editorCommandIn } from "./tools.ts";

/** Distinct files are counted up to here: the hard rule's trigger lies far below. */
const filesCounted = 200;
const pathInArguments =
  /["<](?:path|file_?path|file_?name|target_?file|absolute_?path|relative_?path|file|uri|new_path)(?:"\s*:\s*"|>)\s*([^"<\n]{1,300})/gi;
const pathInPatch = /\*\*\* (?:Update|Add|Delete) File: ([^\n\\]{1,300})/g;

/** Hashes of the distinct files that a call names, if it is an edit-like one. */
export function filesNamedBy({ name, args }: ToolCall): readonly number[] {
  if (!changesFiles(name) || editorCommandIn(args) === "view") return noFiles;
  const paths = new Set<string>();
  // The path stands before or after the new text, which may be long.
  const shown = args.length <= 1_200 ? args : `${args.slice(0, 600)}\n${args.slice(-600)}`;
  const inPatch = args.includes("*** ") ? args.slice(0, 40_000).matchAll(pathInPatch) : [];
  for (const [, path = ""] of inPatch) paths.add(path.trim());
  for (const [, path = ""] of shown.matchAll(pathInArguments)) paths.add(path.trim());
  return [...paths].slice(0, filesCounted).map((path) => hashOfText(path));
}

/** Adds the files that calls have named, from the call at an index on. */
export function addFiles(
  files: Set<number>,
  calls: readonly { readonly files: readonly number[] }[],
  from: number,
): void {
  for (let index = from; index < calls.length && files.size < filesCounted; index++) {
    for (const file of calls[index]?.files ?? noFiles) files.add(file);
  }
}

/** How many distinct files there are, as far as they are counted. */
export function filesTouched(files: ReadonlySet<number>): number {
  return Math.min(files.size, filesCounted);
}

const noFiles: readonly number[] = [];
