import { type ConfigOptions, checkSpan, configIn, onRecords } from "#cli/options.ts";
import { type Result, textOf } from "#cli/output.ts";
import { dollarText } from "#domain/money/money.ts";
import { runBacktest as replay } from "#operator/backtest.ts";
import type { BacktestResult } from "#records/backtest/backtest.ts";

interface BacktestOptions extends ConfigOptions {
  readonly since: number;
  readonly until?: number;
  readonly goal?: string;
}

/** Recorded requests, decided again under another policy. */
export async function runBacktest(file: string, options: BacktestOptions): Promise<Result> {
  checkSpan(options);
  const { since: fromMs, until, goal, models } = options;
  const { policy, registry } = configIn(file, models);
  const filter = { fromMs, toMs: until ?? Date.now(), ...(goal === undefined ? {} : { goal }) };
  const value = await onRecords((store) => replay(store, { policy, registry, filter }));
  return { value, text: reportText(value) };
}

const maxChangesShown = 20;

export function reportText({ from_ms, to_ms, changes, ...result }: BacktestResult): string {
  const { requests, changed, relabelled, skipped, before, after } = result;
  if (requests === 0) {
    const found = skipped === 0 ? "there are no decision records" : `${skipped} refusals before a decision`;
    return `Nothing to replay: ${found} in this span.`;
  }
  const delta = after.cost_nano_usd - before.cost_nano_usd;
  const costs = delta < 0 ? `saves ${dollarText(-delta)}` : `costs ${dollarText(delta)}${delta > 0 ? " more" : ""}`;
  const headline =
    changed === 0 && relabelled === 0
      ? `Nothing changes: all ${requests} requests would have gone where they went.`
      : `${changed} of ${requests} requests would have gone elsewhere; ${costs}.`;
  const [from, to] = [from_ms, to_ms].map((ms) => new Date(ms ?? 0).toISOString());
  return `${headline}\n\n${textOf({ from, to, ...result, changes: changes.slice(0, maxChangesShown) })}`;
}
