import { z } from "zod";
import { type ConfigDocument, isSection, type Path, valueAt } from "./config-file.ts";
import { type Invalid, inOrder, nearest, type Problem, quoted } from "./problem.ts";

/**
 * Checks a document (or `value`, made from it) against a schema; all problems at once, each with path, line, and the
 * nearest known word. A section without a value (`budget:` and nothing below) is an empty section.
 */
export function validate<S extends z.ZodType>(
  schema: S,
  document: ConfigDocument,
  value: unknown = document.value,
): { kind: "ok"; value: z.output<S> } | Invalid {
  let input = value;
  let result = schema.safeParse(input);
  if (!result.success) {
    const empty = result.error.issues.filter(
      (issue) =>
        issue.code === "invalid_type" &&
        ["object", "record"].includes(issue.expected) &&
        valueAt(input, issue.path) === null,
    );
    if (empty.length > 0 && empty.every((issue) => issue.path.length > 0)) {
      input = structuredClone(input);
      for (const issue of empty) setAt(input, issue.path, {});
      result = schema.safeParse(input);
    }
  }
  if (result.success) return { kind: "ok", value: result.data };
  const known = knownKeys(schema);
  const problems = result.error.issues.flatMap((issue) => problemsOf(issue, input, known, document));
  return { kind: "invalid", problems: inOrder(problems) };
}

/** A problem with what stands at a path of a document. */
export function problemAt(document: ConfigDocument, at: Path, message: string, suggestion?: string): Problem {
  const line = document.lineOf(at);
  return {
    file: document.file,
    path: pathText(at),
    ...(line === undefined ? {} : { line }),
    message,
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

function pathText(path: Path): string {
  return path
    .map((segment, index) =>
      typeof segment === "number" ? `[${segment}]` : `${index === 0 ? "" : "."}${String(segment)}`,
    )
    .join("");
}

/** What is wrong, in the schema library's words, with what was found and what was most likely meant. */
function problemsOf(issue: z.core.$ZodIssue, input: unknown, known: KnownKeys, document: ConfigDocument): Problem[] {
  const at = issue.path;
  const problem = (message: string, suggestion?: string) => [problemAt(document, at, message, suggestion)];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => problemAt(document, [...at, key], "unknown key", suggestKey(key, at, known)));
    case "custom":
    case "invalid_format":
      return problem(issue.message);
    case "invalid_key":
      return problem(`not allowed as a key: ${issue.issues.map(({ message }) => message).join("; ")}`);
  }
  const value = valueAt(input, at);
  if (value === undefined) return problem("is required");
  if (value === null) return problem("has no value", "give it one, or remove the key to use the default");
  const messages = issue.code === "invalid_union" ? issue.errors.flat().map(({ message }) => message) : [issue.message];
  return problem(`${messages.join("; or ")}; found ${shown(value)}`, meantValue(issue, value));
}

function shown(value: unknown): string {
  if (typeof value === "string") return `the text ${quoted(value)}`;
  if (Array.isArray(value)) return "a list";
  return isSection(value) ? "a section of keys" : String(value);
}

function meantValue(issue: z.core.$ZodIssue, value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (issue.code === "invalid_value") {
    const near = nearest(value, issue.values.map(String));
    return near && `did you mean ${near}?`;
  }
  if (issue.code !== "invalid_type") return undefined;
  const number = value.replaceAll("_", "").trim();
  switch (issue.expected) {
    case "number":
    case "int":
      return number !== "" && Number.isFinite(Number(number)) ? `write ${number}, without quotes` : undefined;
    case "boolean":
      if (/^(?:true|yes|on|y)$/i.test(value)) return "write true, without quotes";
      return /^(?:false|no|off|n)$/i.test(value) ? "write false, without quotes" : undefined;
    case "array":
      return `write [${value}]`;
  }
  return undefined;
}

/** The keys of a schema, by the path of their object: a glob, with `*` for the keys of a map and the entries of a list. */
type KnownKeys = ReadonlyMap<string, readonly string[]>;

function knownKeys(schema: z.ZodType): KnownKeys {
  const known = new Map<string, readonly string[]>();
  const visit = (node: z.core.JSONSchema._JSONSchema | undefined, path: string): void => {
    if (typeof node !== "object" || Array.isArray(node)) return;
    if (node.properties !== undefined) known.set(path, Object.keys(node.properties));
    for (const [key, child] of Object.entries(node.properties ?? {})) visit(child, `${path}/${key}`);
    for (const child of [node.additionalProperties, node.items].flat()) visit(child, `${path}/*`);
  };
  visit(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), "");
  return known;
}

function suggestKey(key: string, at: Path, known: KnownKeys): string {
  const place = at.map((segment) => `/${String(segment)}`).join("");
  const [path, siblings = []] = [...known].find(([glob]) => new Bun.Glob(glob).match(place)) ?? [];
  const near = nearest(key, siblings);
  if (near !== undefined) return `did you mean ${near}?`;
  // `budget.per_day_hard_usd` in one word, or a key at the wrong level.
  const name = key.split(".").at(-1) ?? key;
  const [home] = [...known].find(([other, keys]) => other !== path && keys.includes(name)) ?? [];
  if (home === "") return `${name} belongs at the top level`;
  if (home !== undefined) return `${name} belongs under ${home.slice(1).replaceAll("/", ".")}`;
  return `known here: ${siblings.filter((sibling) => sibling !== "$schema").join(", ")}`;
}

function setAt(input: unknown, path: Path, value: unknown): void {
  const parent = valueAt(input, path.slice(0, -1));
  if (typeof parent === "object" && parent !== null) Object.assign(parent, { [String(path.at(-1))]: value });
}
