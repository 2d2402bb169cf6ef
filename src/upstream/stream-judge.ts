import type { Json } from "#domain/chat.ts";
import { errorIn, statusFailure } from "./failures.ts";
import type { UpstreamEvent, UpstreamFailure, UsageReport } from "./upstream.ts";
import { isObject, usageReport } from "./usage.ts";

/** More choices than anyone asks for; a bound on what an upstream can make us remember. */
const maxChoices = 128;

/** What one event came to. `real` is false for chunks that only open the stream (a role, an empty delta). */
export type Judged =
  | { readonly kind: "chunk"; readonly event: UpstreamEvent & { readonly kind: "chunk" }; readonly real: boolean }
  /** Nothing to pass on: an empty event or one that is no chunk. */
  | { readonly kind: "nothing" }
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure };

/**
 * Judges a stream by its content. It has ended well when each choice that appeared has a finish reason; how the
 * connection ends says nothing, because a cut one can look like a clean close.
 */
export class StreamJudge {
  readonly #unfinished = new Set<number>();
  readonly #finished = new Set<number>();
  #report: UsageReport = {};

  get report(): UsageReport {
    return this.#report;
  }

  /** Whether a choice appeared and all that appeared are finished. */
  get complete(): boolean {
    return this.#finished.size > 0 && this.#unfinished.size === 0;
  }

  /** How many choices have finished. */
  get finishedChoices(): number {
    return this.#finished.size;
  }

  judge(data: string, name: string): Judged {
    if (data === "[DONE]") return { kind: "done" };
    if (data.trim() === "") return { kind: "nothing" };
    let chunk: Json;
    try {
      chunk = JSON.parse(data);
    } catch {
      return data.trim() === "[DONE]" ? { kind: "done" } : garbage("an event that is not JSON");
    }
    if (!isObject(chunk)) return garbage("an event that is not an object");
    const usage = chunk["usage"];
    if (isObject(usage)) this.#report = { ...this.#report, ...usageReport(usage) };
    const error = errorIn(chunk) ?? (name === "error" ? errorIn({ error: chunk }) : undefined);
    if (error !== undefined) return { kind: "failed", failure: error };
    const choices = chunk["choices"];
    if (choices === undefined || choices === null) {
      if (!isObject(usage)) return { kind: "nothing" };
      // Some servers leave the empty list out of the usage chunk; readers of chunks count on it.
      const whole = { ...chunk, choices: [] };
      return { kind: "chunk", event: { kind: "chunk", raw: JSON.stringify(whole), chunk: whole }, real: true };
    }
    if (!Array.isArray(choices)) return garbage("a chunk whose choices are not a list");
    let real = isObject(usage);
    for (const choice of choices) {
      const seen = this.#see(choice);
      if (typeof seen === "object") return { kind: "failed", failure: seen };
      real ||= seen;
    }
    return { kind: "chunk", event: { kind: "chunk", raw: data, chunk }, real };
  }

  /** Takes note of one choice; true when it carries something. */
  #see(choice: Json): boolean | UpstreamFailure {
    if (!isObject(choice)) return garbage("a choice that is not an object").failure;
    const index = choice["index"] ?? 0;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= maxChoices) {
      return garbage("a choice without a usable index").failure;
    }
    const error = errorIn(choice);
    if (error !== undefined) return error;
    const finish = choice["finish_reason"];
    if (typeof finish === "string" && finish !== "") {
      if (finish === "error") return statusFailure(500, "the upstream ended its stream with an error");
      this.#unfinished.delete(index);
      this.#finished.add(index);
      return true;
    }
    if (!this.#finished.has(index)) this.#unfinished.add(index);
    return carriesSomething(choice["delta"]) || (typeof choice["text"] === "string" && choice["text"] !== "");
  }
}

/** Whether a delta holds more than a role: text, reasoning, a tool call, anything that is not empty. */
function carriesSomething(delta: Json | undefined): boolean {
  if (!isObject(delta)) return false;
  for (const name in delta) {
    const value = delta[name];
    if (name === "role" || value === null || value === undefined || value === "" || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return true;
  }
  return false;
}

function garbage(what: string): { kind: "failed"; failure: UpstreamFailure } {
  return { kind: "failed", failure: { kind: "garbage", message: `the upstream sent ${what}`, dispatched: true } };
}
