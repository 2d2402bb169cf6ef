import type { Json, JsonObject } from "./chat.ts";

// The types of the language do not know these yet: a value that `JSON.stringify` writes as the very text it is given.
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): JsonObject & { readonly rawJSON: string };
  isRawJSON(value: unknown): value is ReturnType<typeof rawJSON>;
};

export { isRawJSON };

/**
 * For `JSON.parse`: numbers that a double cannot hold, or that would be written in another way, stay as they are
 * written, such as 64-bit seeds and the bounds of a tool's parameters.
 */
export function keepRawNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return context.source === String(value) ? value : rawJSON(context.source);
}

/** A number, also in quotes, as servers that are not strict take it; undefined for what is none. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === "number") return value;
  const text = isRawJSON(value) ? value.rawJSON : value;
  if (typeof text !== "string" || text.trim() === "") return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? undefined : number;
}
