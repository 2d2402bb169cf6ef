/** A call of a conversation, as its decision was recorded. */
export interface ProseCall {
  readonly conversation: string;
  /** Whether it is a further turn of an ask. */
  readonly continuation: boolean;
  /** The model that it was routed to. */
  readonly model: string;
  /** The most prose that the run's model had written in a few calls in a row by then. */
  readonly prose: number;
}

/** What a model's runs have in common: nearly all of them wrote less. */
export interface ProseBound {
  readonly model: string;
  readonly runs: number;
  readonly chars: number;
}

/** Share of the runs that stay below the bound; the shipped bound leaves as many of the runs that it was chosen on. */
const shareBelow = 0.95;
/** With fewer runs nothing is said of a model. */
const minRuns = 100;
/** A model that writes less than this in eight calls explains nothing, whether it is in trouble or not. */
const minChars = 4_000;

/**
 * How much prose a model's runs contain, so that a talkative model is not always in trouble; undefined with too few runs. Only runs of at
 * least so many calls count, and what was written before they went to another model.
 * @param calls oldest first
 * @param minCalls over how many calls prose is summed up
 */
export function proseBound(calls: Iterable<ProseCall>, model: string, minCalls: number): ProseBound | undefined {
  const most: number[] = [];
  const running = new Map<string, { calls: number; prose: number }>();
  const end = (conversation: string) => {
    const run = running.get(conversation);
    if (run !== undefined && run.calls >= minCalls) most.push(run.prose);
    running.delete(conversation);
  };
  for (const call of calls) {
    if (!call.continuation) {
      end(call.conversation);
      if (call.model === model) running.set(call.conversation, { calls: 0, prose: 0 });
    }
    const run = running.get(call.conversation);
    if (run === undefined) continue;
    run.calls += 1;
    run.prose = Math.max(run.prose, call.prose);
    if (call.model !== model) end(call.conversation);
  }
  for (const conversation of [...running.keys()]) end(conversation);
  if (most.length < minRuns) return undefined;
  const chars = most.sort((a, b) => a - b)[Math.ceil(shareBelow * most.length) - 1] ?? 0;
  return { model, runs: most.length, chars: Math.max(minChars, chars) };
}
