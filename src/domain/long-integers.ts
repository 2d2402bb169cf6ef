import { isObject, type Json, type JsonObject } from "./chat.ts";

// The types of the language do not know this yet: a value that `JSON.stringify` writes as the very text it is given.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): Json };

/**
 * A body, with every number as it is spelled where `spelled` has a text at the same place: integers that a double cannot
 * hold, such as 64-bit seeds and the bounds of a tool's `uint64` parameters, would travel on as other numbers. The result
 * is only for `JSON.stringify`.
 */
export function withOriginalNumbers(body: JsonObject, spelled: Json): JsonObject {
  return withSpelling(body, spelled) as JsonObject; // an object stays one
}

function withSpelling(value: Json, spelled: Json | undefined): Json {
  if (typeof value === "number") return typeof spelled === "string" ? rawJSON(spelled) : value;
  if (Array.isArray(value)) {
    return Array.isArray(spelled) ? value.map((item, index) => withSpelling(item, spelled[index])) : value;
  }
  if (!isObject(value) || !isObject(spelled)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withSpelling(item, Object.hasOwn(spelled, key) ? spelled[key] : undefined),
    ]),
  );
}
