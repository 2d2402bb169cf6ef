import type { Json, JsonObject } from "#domain/chat.ts";

/** Reasoning of several deltas, under the names that the upstream gave it. */
export interface HeldReasoning {
  readonly texts: { [name in (typeof reasoningTexts)[number]]?: string };
  readonly details: Json[];
  /** How much is held, in characters. */
  size: number;
}

/** The names in use for the text of reasoning; `reasoning_details` has it too, with what goes back to the upstream. */
const reasoningTexts = ["reasoning", "reasoning_content"] as const;

/** Whether a delta has the text of reasoning. */
export function hasReasoningText(delta: JsonObject): boolean {
  return reasoningTexts.some((name) => typeof delta[name] === "string" && delta[name] !== "");
}

/** Moves the reasoning of a delta to what is held back of its choice. */
export function holdReasoning(before: HeldReasoning | undefined, delta: JsonObject): HeldReasoning {
  const held = before ?? { texts: {}, details: [], size: 0 };
  for (const name of reasoningTexts) {
    const text = delta[name];
    if (typeof text === "string" && text !== "") {
      held.texts[name] = (held.texts[name] ?? "") + text;
      held.size += text.length;
    }
    delete delta[name];
  }
  const details = delta.reasoning_details;
  if (Array.isArray(details) && details.length > 0) {
    for (const detail of details) held.details.push(detail);
    held.size += JSON.stringify(details).length;
  }
  delete delta.reasoning_details;
  return held;
}

export function heldText({ texts }: HeldReasoning): string {
  return texts.reasoning ?? texts.reasoning_content ?? "";
}

/** Held reasoning as the fields of a delta. */
export function heldFields({ texts, details }: HeldReasoning): JsonObject {
  return { ...texts, ...(details.length === 0 ? {} : { reasoning_details: details }) };
}
