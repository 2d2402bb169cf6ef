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
  const found = result.error.issues.flatMap((issue) => findings(issue, input, known));
  const problems = found.map(({ at, message, suggestion }) => problemAt(document, at, message, suggestion));
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

interface Finding {
  readonly at: Path;
  readonly message: string;
  readonly suggestion?: string | undefined;
}

/** What is wrong, in the schema library's words, with what was found and what was most likely meant. */
function findings(issue: z.core.$ZodIssue, input: unknown, known: KnownKeys): Finding[] {
  const at = issue.path;
  const value = valueAt(input, at);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        at: [...at, key],
        message: "unknown key",
        suggestion: suggestKey(key, at, known),
      }));
    case "custom":
    case "invalid_format":
      return [{ at, message: issue.message }];
    case "invalid_key":
      return [{ at, message: `not allowed as a key: ${issue.issues.map(({ message }) => message).join("; ")}` }];
  }
  if (value === undefined) return [{ at, message: "is required" }];
  if (value === null) {
    return [{ at, message: "has no value", suggestion: "give it one, or remove the key to use the default" }];
  }
  const messages = issue.code === "invalid_union" ? issue.errors.flat().map(({ message }) => message) : [issue.message];
  return [{ at, message: `${messages.join("; or ")}; found ${shown(value)}`, suggestion: meantValue(issue, value) }];
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
  if (["number", "int"].includes(issue.expected) && number !== "" && Number.isFinite(Number(number))) {
    return `write ${number}, without quotes`;
  }
  if (issue.expected === "boolean" && /^(?:true|yes|on|y)$/i.test(value)) return "write true, without quotes";
  if (issue.expected === "boolean" && /^(?:false|no|off|n)$/i.test(value)) return "write false, without quotes";
  return issue.expected === "array" ? `write [${value}]` : undefined;
}

/** The keys of a schema, by the path of their object (`*` for any key of a map, `[]` for an entry). */
type KnownKeys = ReadonlyMap<string, readonly string[]>;

function knownKeys(schema: z.ZodType): KnownKeys {
  const known = new Map<string, readonly string[]>();
  const visit = (node: z.core.JSONSchema.BaseSchema, path: readonly string[]): void => {
    const properties = Object.entries(node.properties ?? {});
    if (properties.length > 0) known.set(path.join("."), Object.keys(node.properties ?? {}));
    for (const [key, child] of properties) if (typeof child === "object") visit(child, [...path, key]);
    if (typeof node.additionalProperties === "object") visit(node.additionalProperties, [...path, "*"]);
    if (typeof node.items === "object" && !Array.isArray(node.items)) visit(node.items, [...path, "[]"]);
  };
  visit(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), []);
  return known;
}

function suggestKey(key: string, at: Path, known: KnownKeys): string {
  const place = at.map((segment) => (typeof segment === "number" ? "[]" : String(segment)));
  const siblings = keysAt(place, known);
  const near = nearest(key, siblings);
  if (near !== undefined) return `did you mean ${near}?`;
  // `budget.per_day_hard_usd` in one word, or a key at the wrong level.
  const name = key.split(".").at(-1) ?? key;
  const [home] = [...known].find(([path, keys]) => path !== place.join(".") && keys.includes(name)) ?? [];
  if (home !== undefined) return home === "" ? `${name} belongs at the top level` : `${name} belongs under ${home}`;
  return `known here: ${siblings.filter((sibling) => sibling !== "$schema").join(", ")}`;
}

function keysAt(place: readonly string[], known: KnownKeys): readonly string[] {
  const fits = (path: string) => {
    const segments = path.split(".");
    return segments.length === place.length && segments.every((segment, i) => segment === "*" || segment === place[i]);
  };
  return known.get(place.join(".")) ?? [...known].find(([path]) => fits(path))?.[1] ?? [];
}

function setAt(input: unknown, path: Path, value: unknown): void {
  const parent = valueAt(input, path.slice(0, -1));
  if (typeof parent === "object" && parent !== null) Object.assign(parent, { [String(path.at(-1))]: value });
}
