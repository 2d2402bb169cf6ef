import type { RoutedCall } from "./outcomes.ts";

/** What nearly all runs of a model wrote less than. */
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
 * How much prose the runs of each model contain, so that a talkative model is not always in trouble, and a quiet one is
 * noticed. Only runs of at least so many calls count, and what was written before they went to another model.
 * @param calls the oldest first
 * @param minCalls over how many calls prose is summed up
 */
export function proseBounds(
  calls: Iterable<Pick<RoutedCall, "conversation" | "continuation" | "model" | "prose">>,
  minCalls: number,
): readonly ProseBound[] {
  const most = new Map<string, number[]>();
  const running = new Map<string, { readonly model: string; calls: number; prose: number }>();
  const end = (conversation: string) => {
    const run = running.get(conversation);
    running.delete(conversation);
    if (run === undefined || run.calls < minCalls) return;
    const runs = most.get(run.model) ?? [];
    most.set(run.model, runs);
    runs.push(run.prose);
  };
  for (const { conversation, continuation, model, prose } of calls) {
    if (!continuation) {
      end(conversation);
      running.set(conversation, { model, calls: 0, prose: 0 });
    }
    const run = running.get(conversation);
    if (run === undefined) continue;
    run.calls += 1;
    run.prose = Math.max(run.prose, prose);
    if (run.model !== model) end(conversation);
  }
  for (const conversation of [...running.keys()]) end(conversation);
  return [...most].flatMap(([model, runs]) => {
    if (runs.length < minRuns) return [];
    const chars = runs.sort((a, b) => a - b)[Math.ceil(shareBelow * runs.length) - 1] ?? 0;
    return [{ model, runs: runs.length, chars: Math.max(minChars, chars) }];
  });
}
