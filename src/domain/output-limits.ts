import { isObject, type Json, type JsonObject } from "./chat.ts";
import { numberOf } from "./raw-json.ts";
import type { Writable } from "./writable.ts";

/** How much a chat request lets a model write, by every name in use: the hold must cover whichever the host reads. */

/** Other names for `max_tokens`, which some servers let win over it. */
export const otherOutputLimits = [
  ..."max_output_tokens max_new_tokens max_gen_len max_tokens_to_sample n_predict num_predict".split(" "),
];
/** Other names for `n`: how many answers are written. */
export const otherChoiceCounts = "num_return_sequences candidate_count num_generations num_completions".split(" ");
/** Objects in which some servers look for these settings, in any spelling. */
export const settingsFields = "options parameters generation_config generationConfig inferenceConfig".split(" ");
/** A name as lenient readers see it: Go folds the case (the long s too), others take `maxTokens` for `max_tokens`. */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll("\u017f", "s").replaceAll(/[_-]/g, "");
}

/** The largest of each; absent is what a request does not say. */
export interface OutputLimits {
  /** Of an answer, by another name than the two that are standard. */
  readonly otherOutputTokens?: number;
  readonly reasoningTokens?: number;
  readonly otherChoices?: number;
}

const kinds: ReadonlyMap<string, "otherOutputTokens" | "otherChoices"> = new Map([
  ...["max_tokens", "max_completion_tokens", ...otherOutputLimits].map(
    (name) => [foldName(name), "otherOutputTokens"] as const,
  ),
  ...["n", "best_of", ...otherChoiceCounts].map((name) => [foldName(name), "otherChoices"] as const),
]);

/** What a name within `settingsFields` sets. */
export function settingKind(name: string): "otherOutputTokens" | "otherChoices" | undefined {
  return kinds.get(foldName(name));
}

type Limit = readonly [kind: keyof OutputLimits, value: Json, field: string, part?: string];

/** What a field of a body says of limits: its value is one, or some of its members are. */
const fieldKinds = new Map<string, keyof OutputLimits | "reasoning" | "thinking" | "settings">([
  ...[...otherOutputLimits].map((field) => [field, "otherOutputTokens"] as const),
  ...[...otherChoiceCounts].map((field) => [field, "otherChoices"] as const),
  ["thinking_budget", "reasoningTokens"],
  ["reasoning", "reasoning"],
  ["thinking", "thinking"],
  ...[...settingsFields].map((field) => [field, "settings"] as const),
]);

/** Every limit of a body but the standard ones, and where it stands. */
function limitsOf(body: JsonObject): readonly Limit[] {
  let limits: Limit[] | undefined;
  for (const field in body) {
    const kind = fieldKinds.get(field);
    const value = body[field];
    if (kind === undefined || value == null) continue;
    limits ??= [];
    if (kind === "reasoning" || kind === "thinking") {
      const part = kind === "reasoning" ? "max_tokens" : "budget_tokens";
      if (isObject(value)) limits.push(["reasoningTokens", value[part] ?? null, field, part]);
    } else if (kind === "settings") {
      for (const [part, setting] of isObject(value) ? Object.entries(value) : []) {
        const partKind = settingKind(part);
        if (partKind !== undefined) limits.push([partKind, setting, field, part]);
      }
    } else limits.push([kind, value, field]);
  }
  return limits ?? none;
}

const none: readonly Limit[] = [];

export function outputLimitsIn(body: JsonObject): OutputLimits {
  const limits: Writable<OutputLimits> = {};
  for (const [kind, value] of limitsOf(body)) {
    // A server that is not strict takes a number in quotes for a number.
    const amount = Math.min(Math.ceil(numberOf(value) ?? 0), Number.MAX_SAFE_INTEGER);
    if (amount > (limits[kind] ?? 0)) limits[kind] = amount;
  }
  return limits;
}

/** Lowers every limit of a body to `most`, one of reasoning to what an answer of `answer` tokens leaves of it. */
export function lowerLimits(body: JsonObject, most: number, answer: number): void {
  for (const [kind, value, field, part] of limitsOf(body)) {
    const to = kind === "reasoningTokens" ? Math.max(most - answer, answer - 1) : most;
    if (kind === "otherChoices" || (numberOf(value) ?? 0) <= to) continue;
    body[field] = part === undefined ? to : { ...(body[field] as JsonObject), [part]: to }; // it has the part
  }
}
