import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { hasMoreValuesThan } from "#platform/json/json-scan.ts";
import { CallIdentity } from "#upstream/call-identity.ts";
import { errorIn, garbageFailure, statusFailure } from "#upstream/failures.ts";
import type { ChunkEvent, ChunkRun, UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import { UsageReader } from "#upstream/usage.ts";
import { ChunkTemplate } from "./chunk-template.ts";

/** More choices than any request has; bounds the memory that an upstream can make the gateway use. */
const maxChoices = 128;

/** The result of validating one event; nothing to pass on is an empty event, or one that is no chunk. */
export type ValidatedEvent =
  | ChunkEvent
  | { readonly kind: "nothing" | "done" }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure };

/** Chunks are a few hundred characters long; one that is far longer is no template. */
const maxTemplateLength = 4_096;

const nothing: ValidatedEvent = { kind: "nothing" };

/**
 * Validates a stream by its content. It is complete when each choice that appeared has a finish reason; how the
 * connection ends proves nothing, because a cut can look like a clean close.
 */
export class StreamValidator {
  /** The choices that have appeared, and those of them with a finish reason, by index. */
  readonly #seen = new Set<number>();
  readonly #finished = new Set<number>();
  #hasContent = false;
  readonly #usage = new UsageReader();
  /** The template of the chunks that carry text, how often one was learned, and how many chunks matched. */
  #template: ChunkTemplate | undefined;
  #tries = 0;
  #matches = 0;
  /** Learns from the chunks what the aggregator says of the call. */
  readonly #identity: CallIdentity;
  /** Most JSON values in one event. */
  readonly #maxValues: number;

  constructor(maxValues: number, identity = new CallIdentity()) {
    this.#maxValues = maxValues;
    this.#identity = identity;
  }

  get report(): UsageReport {
    return this.#identity.addTo(this.#usage.report(this.complete));
  }

  /** Whether a choice appeared and all that appeared are finished. */
  get complete(): boolean {
    return this.#finished.size > 0 && this.#finished.size === this.#seen.size;
  }

  get hasUsage(): boolean {
    return this.#usage.hasReport;
  }

  get finishedChoices(): number {
    return this.#finished.size;
  }

  /** Whether a chunk had content: more than a role, which only opens the stream. */
  get hasContent(): boolean {
    return this.#hasContent;
  }

  /**
   * The events in a row, from `from` and up to `until` at most, that differ from an earlier one in their content only. They
   * need no validation: they do not change the state of the stream.
   */
  matchTemplate(text: string, from: number, until: number): ChunkRun | undefined {
    const run = this.#template?.match(text, from, until);
    if (run === undefined) return undefined;
    this.#matches += run.contentEnds.length;
    this.#usage.skipOutput();
    return run;
  }

  validate(data: string, name: string): ValidatedEvent {
    if (data.length < 16) {
      const word = data.trim();
      if (word === "[DONE]") return { kind: "done" };
      if (word === "") return nothing;
    }
    if (hasMoreValuesThan(data, this.#maxValues))
      return failedAs(`an event of more than ${this.#maxValues} JSON values`);
    let chunk: Json;
    try {
      chunk = JSON.parse(data);
    } catch {
      return failedAs("an event that is not JSON");
    }
    if (!isObject(chunk)) return failedAs("an event that is not an object");
    this.#identity.read(chunk);
    const choices = chunk["choices"];
    const hasUsage = this.#usage.read(chunk, hasOutput(choices, "delta"));
    const error = errorIn(chunk) ?? (name === "error" ? errorIn({ error: chunk }) : undefined);
    if (error !== undefined) return this.#failed(error, choices, hasUsage);
    if (!Array.isArray(choices)) {
      if (choices !== undefined && choices !== null) return failedAs("a chunk whose choices are not a list");
      if (!hasUsage) return nothing;
      this.#hasContent = true;
      // Some servers leave the empty list out of the usage chunk; readers of chunks count on it.
      const whole = { ...chunk, choices: [] };
      return { kind: "chunk", raw: JSON.stringify(whole), chunk: whole };
    }
    // Neither choices nor usage: some servers send it as a keep-alive. Some callers fail on it, and it is no progress.
    if (choices.length === 0 && !hasUsage) return nothing;
    for (const choice of choices) {
      const failure = this.#checkChoice(choice);
      if (failure !== undefined) return this.#failed(failure, choices, hasUsage);
    }
    if (hasUsage) this.#hasContent = true;
    else if (choices.length === 1) this.#learnTemplate(data, chunk);
    return { kind: "chunk", raw: data, chunk };
  }

  /** Reads an event for its usage alone. */
  readUsage(data: string): ValidatedEvent {
    try {
      const chunk: Json = hasMoreValuesThan(data, this.#maxValues) ? null : JSON.parse(data);
      if (!isObject(chunk) || !this.#usage.read(chunk, false)) return nothing;
      const whole = { ...chunk, choices: [] };
      return { kind: "chunk", raw: JSON.stringify(whole), chunk: whole };
    } catch {
      return nothing; // not JSON, and so no usage
    }
  }

  #failed(failure: UpstreamFailure, choices: Json | undefined, hasUsage: boolean): ValidatedEvent {
    if (hasUsage) this.#usage.close();
    const begun = this.#hasContent || hasOutput(choices, "delta");
    return { kind: "failed", failure: begun ? { ...failure, begun } : failure };
  }

  /** Makes a chunk the template of those to come, unless templates have matched too rarely so far. */
  #learnTemplate(data: string, chunk: JsonObject): void {
    const [choice] = chunk["choices"] as Json[]; // the caller has looked
    if (!isObject(choice) || typeof choice["finish_reason"] === "string" || data.length > maxTemplateLength) return;
    if (this.#tries >= 4 && this.#matches < 16 * this.#tries) return;
    this.#tries++;
    this.#template = ChunkTemplate.of(data, chunk) ?? this.#template;
  }

  /** Records the state of one choice; returns a failure when it is invalid. */
  #checkChoice(choice: Json): UpstreamFailure | undefined {
    if (!isObject(choice)) return garbageFailure("the upstream sent a choice that is not an object");
    const index = choice["index"] ?? 0;
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= maxChoices) {
      return garbageFailure("the upstream sent a choice without a usable index");
    }
    const error = errorIn(choice);
    if (error !== undefined) return error;
    const finish = choice["finish_reason"];
    if (typeof finish === "string" && finish !== "") {
      if (finish === "error") return statusFailure(500, "the upstream ended its stream with an error");
      this.#finished.add(index);
      this.#hasContent = true;
    }
    this.#seen.add(index);
    if (!this.#hasContent) this.#hasContent = carriesSomething(choice["delta"]);
    return undefined;
  }
}

/** Whether a choice has some of an answer in its message or delta. */
export function hasOutput(choices: Json | undefined, member: "message" | "delta"): boolean {
  return Array.isArray(choices) && choices.some((choice) => isObject(choice) && carriesSomething(choice[member]));
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

function failedAs(what: string): ValidatedEvent {
  return { kind: "failed", failure: garbageFailure(`the upstream sent ${what}`) };
}
