import { largeBodyBytes, largeWorkTurn, runInTurns } from "#platform/event-loop-turns.ts";
import type { ChunkEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { splitChunk } from "./split-chunk.ts";
import type { StreamValidator, ValidatedEvent } from "./stream-validator.ts";

/** An event that was read, but not validated yet, or why the stream has failed behind the others. */
type QueuedEvent =
  | { readonly kind: "event"; readonly data: string; readonly name: string }
  | { readonly kind: "failed"; readonly failure: UpstreamFailure };

/**
 * Events from a large one on, in their order. A large one is validated in steps and handed out in pieces, each in a turn of the
 * event loop: 16 MB in one turn would keep all other requests waiting for a quarter of a second.
 */
export class LargeEvents {
  readonly #validator: StreamValidator;
  readonly #queued: QueuedEvent[] = [];
  /** What is left of a large event. */
  #pieces: Generator<ChunkEvent, void> | undefined;

  constructor(validator: StreamValidator) {
    this.#validator = validator;
  }

  /** Nothing is queued. */
  get isEmpty(): boolean {
    return this.#queued.length === 0 && this.#pieces === undefined;
  }

  /** Queues an event that is large or follows one; false for others. */
  take(data: string, name: string): boolean {
    if (this.isEmpty && data.length <= largeBodyBytes) return false;
    this.#queued.push({ kind: "event", data, name });
    return true;
  }

  /** Queues the failure that ends the stream; false when nothing is queued before it. */
  fail(failure: UpstreamFailure): boolean {
    if (this.isEmpty) return false;
    this.#queued.push({ kind: "failed", failure });
    return true;
  }

  clear(): void {
    this.#queued.length = 0;
    this.#pieces = undefined;
  }

  /** The next event, or the next piece of one; undefined when nothing is queued. */
  async next(): Promise<ValidatedEvent | undefined> {
    if (this.#pieces === undefined) {
      const event = this.#queued.shift();
      if (event === undefined) return undefined;
      if (event.kind === "failed") return event;
      const { data, name } = event;
      if (data.length <= largeBodyBytes) return this.#validator.validate(data, name);
      const validated = await runInTurns(this.#validator.validateInSteps(data, name));
      if (validated.kind !== "chunk") return validated;
      this.#pieces = splitChunk(validated.chunk, validated.raw);
    }
    await largeWorkTurn();
    // Cleared in the meantime, if undefined.
    const piece = this.#pieces?.next();
    if (piece?.done !== false) {
      this.#pieces = undefined;
      return this.next();
    }
    return piece.value;
  }
}
