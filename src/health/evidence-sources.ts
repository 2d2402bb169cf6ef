import { LruMap } from "#platform/lru-map.ts";
import type { EvidenceSource } from "./health.ts";

/** Callers, and conversations, that are remembered for each model. */
const remembered = 256;
/** A caller's failures that are further apart are no run. */
const runMs = 600_000;
/** For so long two conversations confirm each other: about an unusable answer, and about a cost above the hold. */
const unusableMs = 600_000;
const breachMs = 21_600_000;

/**
 * Whose requests have met a model's failures, of one model. A failure counts whoever met it, and only the same
 * caller's success ends a caller's run of failures. What the request itself may have caused counts once for each
 * conversation, and not before a second conversation has met it.
 */
export class EvidenceSources {
  readonly #runs = new LruMap<number, { readonly failures: number; readonly atMs: number }>(remembered);
  readonly #unusable = new LruMap<string, number>(remembered);
  readonly #breached = new LruMap<string, number>(remembered);
  #unusableInARow = 0;

  succeeded({ caller }: EvidenceSource): void {
    this.#runs.delete(caller);
    this.#unusableInARow = 0;
  }

  /** How many failures in a row the caller has met, this one included. */
  failed({ caller }: EvidenceSource, ms: number): number {
    const run = this.#runs.get(caller);
    const failures = run === undefined || ms - run.atMs > runMs ? 1 : run.failures + 1;
    this.#runs.set(caller, { failures, atMs: ms });
    return failures;
  }

  /** An unusable answer: how many conversations have met one since the last success; 0: it proves nothing. */
  unusable({ conversation }: EvidenceSource, ms: number): number {
    const conversations = countOf(this.#unusable, conversation, ms, unusableMs);
    if (conversations > 0) this.#unusableInARow += 1;
    return conversations >= 2 ? this.#unusableInARow : 0;
  }

  /** An answer that cost more than was held for it: how many conversations have met one; 0: it proves nothing. */
  breached({ billed }: EvidenceSource, ms: number): number {
    return countOf(this.#breached, billed, ms, breachMs);
  }

  /** The model serves no more: whoever comes back to it later begins anew. */
  endRuns(): void {
    this.#runs.clear();
    this.#unusableInARow = 0;
  }
}

/** Adds a conversation: how many there are within a span of time; 0 if it counts already, or is not to count. */
function countOf(metMs: LruMap<string, number>, conversation: string | undefined, ms: number, spanMs: number): number {
  const isRecent = (atMs: number | undefined) => atMs !== undefined && ms - atMs <= spanMs;
  if (conversation === undefined || isRecent(metMs.get(conversation))) return 0;
  metMs.set(conversation, ms);
  return [...metMs.values()].filter(isRecent).length;
}
