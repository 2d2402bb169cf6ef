import { isObject, type JsonObject } from "./chat.ts";
import { numberOf } from "./raw-json.ts";
import type { Writable } from "./writable.ts";

/** How much a chat request lets a model write, by every name in use: what is held must cover whichever the host reads. */

/** Other names for `max_tokens`, which some servers let win over it. */
export const otherOutputLimits = [
  ..."max_output_tokens max_new_tokens max_gen_len max_tokens_to_sample n_predict num_predict".split(" "),
];
/** Other names for `n`: how many answers are written. */
export const otherChoiceCounts = "num_return_sequences candidate_count num_generations num_completions".split(" ");
/** Objects in which some servers look for these settings, in any spelling. */
export const settingsFields = "options parameters generation_config generationConfig inferenceConfig".split(" ");
/** What a request grants to reasoning alone. */
const reasoningLimits = [["reasoning", "max_tokens"], ["thinking", "budget_tokens"], ["thinking_budget"]] as const;

/** A name as lenient readers see it: Go folds the case (the long s too), others take `maxTokens` for `max_tokens`. */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll("\u017f", "s").replaceAll(/[_-]/g, "");
}

const kinds: ReadonlyMap<string, "limit" | "count"> = new Map([
  ...["max_tokens", "max_completion_tokens", ...otherOutputLimits].map((name) => [foldName(name), "limit"] as const),
  ...["n", "best_of", ...otherChoiceCounts].map((name) => [foldName(name), "count"] as const),
]);

/** What a name within `settingsFields` sets. */
export function settingKind(name: string): "limit" | "count" | undefined {
  return kinds.get(foldName(name));
}

/** Absent is what the request does not say. */
export interface OutputLimits {
  /** The largest limit under another name than the two that are standard. */
  readonly otherOutputTokens?: number;
  readonly reasoningTokens?: number;
  readonly otherChoices?: number;
}

export function outputLimitsIn(body: JsonObject): OutputLimits {
  const limits: Writable<OutputLimits> = {};
  const note = (name: keyof OutputLimits, value: JsonObject[string] | undefined) => {
    if (value === undefined) return;
    // A server that is not strict takes a number in quotes for a number.
    const amount = Math.min(Math.ceil(numberOf(value) ?? 0), Number.MAX_SAFE_INTEGER);
    if (amount > (limits[name] ?? 0)) limits[name] = amount;
  };
  for (const name of otherOutputLimits) note("otherOutputTokens", body[name]);
  for (const name of otherChoiceCounts) note("otherChoices", body[name]);
  for (const [name, part] of reasoningLimits) {
    const value = body[name];
    if (part === undefined) note("reasoningTokens", value);
    else if (isObject(value)) note("reasoningTokens", value[part]);
  }
  for (const name of settingsFields) {
    const settings = body[name];
    if (!isObject(settings)) continue;
    for (const [key, value] of Object.entries(settings)) {
      const kind = settingKind(key);
      if (kind !== undefined) note(kind === "limit" ? "otherOutputTokens" : "otherChoices", value);
    }
  }
  return limits;
}

/** Lowers every limit of a body to `most`, and one of reasoning beside an answer of `answer` tokens to what that leaves of it. */
export function lowerLimits(body: JsonObject, most: number, answer: number): void {
  const isAbove = (value: JsonObject[string] | undefined, to: number) =>
    value !== undefined && (numberOf(value) ?? 0) > to;
  for (const name of otherOutputLimits) if (isAbove(body[name], most)) body[name] = most;
  for (const name of settingsFields) {
    const settings = body[name];
    if (!isObject(settings)) continue;
    for (const key of Object.keys(settings))
      if (settingKind(key) === "limit" && isAbove(settings[key], most))
        body[name] = { ...(body[name] as JsonObject), [key]: most };
  }
  const left = Math.max(most - answer, answer - 1);
  for (const [name, part] of reasoningLimits) {
    const value = body[name];
    if (part === undefined) {
      if (isAbove(value, left)) body[name] = left;
    } else if (isObject(value) && isAbove(value[part], left)) body[name] = { ...value, [part]: left };
  }
}
