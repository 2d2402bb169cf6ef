import { readFileSync, statSync } from "node:fs";
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  visit,
  YAMLParseError,
} from "yaml";
import type { Invalid, Problem } from "./problem.ts";

/** A YAML or JSON file (JSON is read as the YAML that it also is), with the line of everything in it. */
export interface ConfigDocument {
  readonly file: string;
  /** Plain data; an empty file is an empty object. */
  readonly value: unknown;
  /** The line, from 1, of what stands at a path, or of the nearest thing around it. */
  lineOf(path: Path): number | undefined;
}

export type Path = readonly PropertyKey[];

/** Reads a file that `setting` names. Never throws: what cannot be read or parsed is a problem. */
export function readConfigFile(path: string, setting: string): { kind: "ok"; document: ConfigDocument } | Invalid {
  const read = readText(path, setting);
  return read.kind === "ok" ? parseConfig(read.text, path) : read;
}

/** The text of a file that `setting` names. Never throws, and never waits for a writer. */
export function readText(path: string, setting: string, maxBytes = 1_048_576): { kind: "ok"; text: string } | Invalid {
  const tooLarge = () => invalid(path, `is larger than ${maxBytes} bytes`, `check ${setting}`);
  try {
    const stats = statSync(path);
    if (!stats.isFile() && !stats.isDirectory() && !inherited.test(path))
      return invalid(path, "is not a regular file", `check ${setting}`);
    if (stats.size > maxBytes) return tooLarge();
    const bytes = readFileSync(path);
    if (bytes.length > maxBytes) return tooLarge();
    return { kind: "ok", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const reasons: Record<string, string> = {
      ENOENT: "does not exist",
      EISDIR: "is a directory, not a file",
      EACCES: "may not be read by this user",
      ERR_ENCODING_INVALID_ENCODED_DATA: "is not UTF-8 text",
    };
    return invalid(path, reasons[code] ?? `cannot be read (${code})`, `check the path that was given, or ${setting}`);
  }
}

/**
 * Standard input and the shell's `<(…)`: a command reads them once, and their writer started before it. Other places
 * below `/dev` hold usual files (`/dev/shm`), where a pipe may have no writer.
 */
const inherited = /^\/(?:dev\/(?:null$|stdin$|fd\/)|proc\/)/;

export function parseConfig(text: string, file: string): { kind: "ok"; document: ConfigDocument } | Invalid {
  const lines = new LineCounter();
  const parsed = parseYaml(text, lines);
  if (typeof parsed === "string") return invalid(file, parsed, "write less, or flatter");
  const [document, second] = parsed;
  const at = (offset: number) => ({ file, path: "", line: lines.linePos(offset).line });
  const problems: Problem[] = parsed.flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(({ code, message, pos: [offset] }) => ({
      ...at(offset),
      message: syntaxMessage(code, message, text.slice(offset)),
    })),
  );
  const begins = { message: "a second document begins here", suggestion: "remove the `---`" };
  if (second !== undefined) problems.push({ ...at(second.range?.[0] ?? 0), ...begins });
  if (problems.length > 0) return { kind: "invalid", problems };
  try {
    const value: unknown = document?.toJS({ maxAliasCount: 100 }) ?? {};
    return { kind: "ok", document: { file, value, lineOf: (path) => lineOf(path, document, lines) } };
  } catch {
    // Errors that only the conversion finds: aliases without an anchor, or aliases that multiply without end.
    return invalid(file, "its aliases (`*name`) cannot be resolved", "write them out");
  }
}

function lineOf(path: Path, document: Document | undefined, lines: LineCounter): number | undefined {
  let node: unknown = document?.contents;
  let offset = document?.contents?.range?.[0];
  for (const segment of path) {
    if (isAlias(node) && document !== undefined) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment));
      if (pair === undefined) break;
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(segment)];
      if (!isScalar(node) && !isMap(node) && !isSeq(node)) break;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

/** `rest` begins where the problem is. */
function syntaxMessage(code: string, message: string, rest: string): string {
  if (code === "DUPLICATE_KEY") {
    const key = /^[^\s:]+/.exec(rest)?.[0];
    return `a key stands here twice${key === undefined ? "" : `: ${key}`}`;
  }
  return `not valid YAML: ${message.replace(/\s+/g, " ")}`;
}

function invalid(file: string, message: string, suggestion: string): Invalid {
  return { kind: "invalid", problems: [{ file, path: "", message, suggestion }] };
}

// A running gateway does nothing else while it parses a file. Usual files have a handful of levels and some thousand
// tokens; a registry of 1,000 models has some 90,000.
const maxDepth = 64;
const maxTokens = 100_000;

/** The first documents of a YAML text, two at most, each with its errors and warnings; or why the text is not parsed. */
function parseYaml(text: string, lines: LineCounter): Document[] | string {
  const parser = new BoundedParser(lines.addNewLine);
  // The library's own check for duplicate keys compares each key of a map with all before it.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  try {
    const documents: Document[] = [];
    for (const document of composer.compose(parser.parse(text))) {
      reportDuplicateKeys(document);
      // A second one is an error already.
      if (documents.push(document) === 2) break;
    }
    return documents;
  } catch (error) {
    if (error instanceof LimitExceeded) return error.message;
    throw error;
  }
}

class LimitExceeded extends Error {}

/** Stops at the depth and at the number of tokens (keys, values, brackets, line ends, spaces) that are allowed. */
class BoundedParser extends Parser {
  #tokens = 0;

  override *next(token: string): Generator<CST.Token, void> {
    if (this.stack.length > maxDepth) throw new LimitExceeded(`nests deeper than ${maxDepth} levels`);
    if (++this.#tokens > maxTokens) throw new LimitExceeded(`has more than ${maxTokens} YAML tokens`);
    yield* super.next(token);
  }
}

function reportDuplicateKeys(document: Document): void {
  visit(document, {
    Map(_, { items }) {
      const names = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (names.has(name)) {
          const at = key.range?.[0] ?? 0;
          document.errors.push(new YAMLParseError([at, at + 1], "DUPLICATE_KEY", "Map keys must be unique"));
        }
        names.add(name);
      }
    },
  });
}

/** What stands at a path of plain data; undefined where nothing does. Indexes of lists are keys. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((section, key) => {
    const isMap = typeof section === "object" && section !== null;
    return isMap && Object.hasOwn(section, key) ? (section as Record<PropertyKey, unknown>)[key] : undefined;
  }, value);
}

/** Whether a value of a configuration file is a section: a map of keys, neither a list nor a plain value. */
export function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
