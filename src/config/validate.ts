import { z } from "zod";
import type { ConfigDocument, Path } from "./config-file.ts";
import { type Invalid, nearest, type Problem, quoted } from "./problem.ts";

/** The problems, and the value without the parts that they are about, for further checks. */
export type InvalidDocument<T> = Invalid & { readonly rest?: T };

/**
 * Checks a document (or `value`, made from it) against a schema; all problems at once, each with path, line, and the
 * nearest known word. A section without a value (`budget:` and nothing below) is an empty section.
 */
export function validate<S extends z.ZodType>(
  schema: S,
  document: ConfigDocument,
  value: unknown = document.value,
): { kind: "ok"; value: z.output<S> } | InvalidDocument<z.output<S>> {
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
  const problems = result.error.issues
    .flatMap((issue) => problemsOf(issue, input, known))
    .map(({ at, message, suggestion }): Problem => {
      const line = document.lineOf(at);
      return {
        file: document.file,
        path: pathText(at),
        ...(line === undefined ? {} : { line }),
        message,
        ...(suggestion === undefined ? {} : { suggestion }),
      };
    });
  const rest = schema.safeParse(without(result.error.issues, input));
  return { kind: "invalid", problems, ...(rest.success ? { rest: rest.data } : {}) };
}

/** The input without the parts that have problems; a list with a bad entry is left out as a whole. */
function without(issues: readonly z.core.$ZodIssue[], input: unknown): unknown {
  const rest = structuredClone(input);
  for (const issue of issues) {
    const index = issue.path.findIndex((segment) => typeof segment === "number");
    const at = index === -1 ? issue.path : issue.path.slice(0, index);
    const keys = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...at, key]) : [at];
    for (const path of keys) {
      const parent = valueAt(rest, path.slice(0, -1));
      if (isObject(parent)) delete parent[String(path.at(-1))];
    }
  }
  return rest;
}

export function pathText(path: Path): string {
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

function problemsOf(issue: z.core.$ZodIssue, input: unknown, known: KnownKeys): Finding[] {
  const at = issue.path;
  const value = valueAt(input, at);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        at: [...at, key],
        message: "unknown key",
        suggestion: suggestKey(key, at, known),
      }));
    case "invalid_type":
      if (value === undefined) return [{ at, message: "is required" }];
      if (value === null) {
        return [{ at, message: "has no value", suggestion: "give it one, or remove the key to use the default" }];
      }
      return [
        {
          at,
          message: `expected ${named(issue.expected)}, found ${shown(value)}`,
          suggestion: retyped(issue.expected, value),
        },
      ];
    case "invalid_value": {
      const options = issue.values.map(String);
      if (value === undefined) return [{ at, message: `is required: one of ${options.join(", ")}` }];
      const near = typeof value === "string" ? nearest(value, options) : undefined;
      return [
        {
          at,
          message: `expected one of ${options.join(", ")}; found ${shown(value)}`,
          suggestion: near && `did you mean ${near}?`,
        },
      ];
    }
    case "too_small":
    case "too_big": {
      const [word, bound] = issue.code === "too_small" ? ["at least", issue.minimum] : ["at most", issue.maximum];
      if (issue.origin === "array") return [{ at, message: `needs ${word} ${bound} entries` }];
      if (issue.origin === "string") return [{ at, message: `needs ${word} ${bound} characters` }];
      return [{ at, message: `must be ${word} ${bound}, is ${shown(value)}` }];
    }
    case "invalid_key":
      return [{ at, message: `not allowed as a key: ${issue.issues.map(({ message }) => message).join("; ")}` }];
    case "invalid_union": {
      const kinds = issue.errors
        .flat()
        .flatMap((inner) => (inner.code === "invalid_type" ? [named(inner.expected)] : []));
      return [{ at, message: `expected ${[...new Set(kinds)].join(" or ")}, found ${shown(value)}` }];
    }
    default:
      return [{ at, message: issue.message }];
  }
}

/** The keys of a schema, by the path of their object (`*` for any key of a map, `[]` for an entry). */
type KnownKeys = ReadonlyMap<string, readonly string[]>;

const knownKeysOf = new WeakMap<z.ZodType, KnownKeys>();

function knownKeys(schema: z.ZodType): KnownKeys {
  const cached = knownKeysOf.get(schema);
  if (cached !== undefined) return cached;
  const known = new Map<string, readonly string[]>();
  knownKeysOf.set(schema, known);
  const visit = (node: z.core.JSONSchema.BaseSchema, path: string): void => {
    const below = (segment: string) => (path === "" ? segment : `${path}.${segment}`);
    const properties = Object.entries(node.properties ?? {});
    if (properties.length > 0)
      known.set(
        path,
        properties.map(([key]) => key),
      );
    for (const [key, child] of properties) if (typeof child === "object") visit(child, below(key));
    if (typeof node.additionalProperties === "object") visit(node.additionalProperties, below("*"));
    if (typeof node.items === "object" && !Array.isArray(node.items)) visit(node.items, below("[]"));
  };
  visit(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), "");
  return known;
}

function suggestKey(key: string, at: Path, known: KnownKeys): string {
  const place = at.map((segment) => (typeof segment === "number" ? "[]" : String(segment)));
  const siblings = keysAt(place, known);
  const plain = (word: string) => word.toLowerCase().replace(/[^a-z0-9]/g, "");
  const twin = siblings.find((sibling) => plain(sibling) === plain(key));
  if (twin !== undefined) return `did you mean ${twin}?`;
  if (key.includes(".")) {
    const parent = [...place, ...key.split(".")].slice(0, -1);
    const last = key.split(".").at(-1) ?? "";
    if (keysAt(parent, known).includes(last))
      return `write it nested: ${key.split(".").join(": { ")}: …${" }".repeat(key.split(".").length - 1)}`;
  }
  const home = [...known].find(([path, keys]) => path !== place.join(".") && keys.includes(key));
  const near = nearest(key, siblings);
  if (near !== undefined) return `did you mean ${near}?`;
  if (home !== undefined) return home[0] === "" ? `${key} belongs at the top level` : `${key} belongs under ${home[0]}`;
  return `known here: ${siblings.filter((sibling) => sibling !== "$schema").join(", ")}`;
}

function keysAt(place: readonly string[], known: KnownKeys): readonly string[] {
  const wanted = place.join(".");
  for (const [path, keys] of known) {
    const segments = path.split(".");
    if (
      path === wanted ||
      (segments.length === place.length && segments.every((segment, i) => segment === "*" || segment === place[i]))
    )
      return keys;
  }
  return [];
}

function valueAt(input: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, segment) => (isObject(value) ? value[String(segment)] : undefined), input);
}

function setAt(input: unknown, path: Path, value: unknown): void {
  const parent = valueAt(input, path.slice(0, -1));
  if (isObject(parent)) parent[String(path.at(-1))] = value;
}

/** Arrays are objects here too: their indexes are keys. */
function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function named(type: string): string {
  const names: Record<string, string> = {
    int: "a whole number",
    number: "a number",
    boolean: "true or false",
    string: "text",
    array: "a list",
    object: "a section of keys",
    record: "a map of keys",
  };
  return names[type] ?? type;
}

function shown(value: unknown): string {
  if (typeof value === "string") return `the text ${quoted(value)}`;
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "a section of keys";
  return String(value);
}

function retyped(expected: string, value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  if (
    (expected === "number" || expected === "int") &&
    value.trim() !== "" &&
    Number.isFinite(Number(value.replaceAll("_", "")))
  ) {
    return `write ${value.replaceAll("_", "").trim()}, without quotes`;
  }
  if (expected === "boolean" && /^(true|yes|on|y)$/i.test(value)) return "write true, without quotes";
  if (expected === "boolean" && /^(false|no|off|n)$/i.test(value)) return "write false, without quotes";
  if (expected === "array") return `write [${value}]`;
  return undefined;
}
