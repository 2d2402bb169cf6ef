import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, BillingLookups, Ledger } from "#ledger/ledger.ts";
import { BackgroundJob } from "#platform/background-job.ts";
import type { Random, Timers } from "#platform/time.ts";

/** What the aggregator says of one call. */
export type BillingAnswer =
  /** All that is owed for it, in nano-USD. */
  | { readonly kind: "billed"; readonly costNanoUsd: number }
  | { readonly kind: "not_found" }
  | { readonly kind: "failed"; readonly detail: string };

export interface BillingLookupOptions {
  readonly ledger: Pick<Ledger, "resolve"> & BillingLookups;
  /** Asks the aggregator. Must not reject. */
  readonly ask: (generationId: string) => Promise<BillingAnswer>;
  /** Whether to ask at all; looked at before each round. */
  readonly enabled: () => boolean;
  /** A cost above this is not believed, for a call with this hold. */
  readonly maxCredibleCost: (hold: NanoUsd) => NanoUsd;
  readonly timers: Timers;
  readonly random: Random;
  readonly onAnswer: (answer: "billed" | "distrusted" | "not_found" | "failed") => void;
}

const roundIntervalMs = 3_000;
const batchSize = 16;
/** Questions under way at a time. */
const concurrency = 4;

/**
 * Settles calls of unknown outcome by what the aggregator says it has billed: in the background, some at a time, each a
 * few times with growing pauses, because its record appears some seconds after the call. Pending lookups are kept in
 * the store, so whichever gateway runs asks it. What was charged meanwhile is corrected. Returns a function that ends
 * it.
 */
export function startBillingLookup(options: BillingLookupOptions): () => void {
  const { timers, random } = options;
  let stopped = false;
  const round = async (): Promise<void> => {
    if (!options.enabled()) return;
    const waiting = await options.ledger.takeLookups(batchSize);
    for (let at = 0; at < waiting.length && !stopped; at += concurrency)
      await Promise.all(waiting.slice(at, at + concurrency).map((next) => lookUp(next, options)));
  };
  // Several nodes should not ask in step.
  const job = new BackgroundJob({ run: round, pauseMs: () => roundIntervalMs * (0.8 + 0.4 * random()), timers });
  job.schedule();
  return () => {
    stopped = true;
    void job.close();
  };
}

async function lookUp({ id, generationId, hold, last }: BillingLookup, options: BillingLookupOptions): Promise<void> {
  const { ledger, onAnswer } = options;
  const reply = await options.ask(generationId);
  if (reply.kind !== "billed") {
    onAnswer(reply.kind);
    if (last) await ledger.dropLookups([id]);
    return;
  }
  const billed = nanoUsd(reply.costNanoUsd);
  const limit = options.maxCredibleCost(hold);
  // As with a cost that an answer states: more than any model can write is too high to be true.
  const settlement =
    billed <= limit
      ? { actual: billed, source: "upstream_cost" as const }
      : { actual: limit, source: "at_least" as const, distrusted: billed };
  onAnswer(billed <= limit ? "billed" : "distrusted");
  await ledger.resolve([{ id, kind: "settled", reason: "generation record", ...settlement }]);
  await ledger.dropLookups([id]);
}
