import { type Command, Option } from "commander";
import { withRecords } from "#cli/databases.ts";
import { checkSpan, fileOr, time } from "#cli/options.ts";
import { type OutputOptions, print, progress, textTable, valid } from "#cli/output.ts";
import { loadConfig } from "#config/load-config.ts";
import { dollarText } from "#domain/money/dollar-text.ts";
import { type BacktestResult, backtest } from "#records/backtest/backtest.ts";
import { boundedId } from "#records/build-record.ts";

interface BacktestOptions extends OutputOptions {
  readonly since: number;
  readonly until?: number;
  readonly goal?: string;
  readonly models?: string;
}

/** `smart-gateway policy backtest FILE`: recorded requests, decided again under another policy. */
export function addBacktestCommand(policy: Command): void {
  policy
    .command("backtest")
    .description("replay the recorded requests under a policy file, and print what would have changed")
    .argument("<file>", "the policy to try")
    .addOption(
      new Option("--since <moment>", "only requests since this time: 24h, 30d ago, a UTC day, or an ISO 8601 time")
        .argParser(time)
        // The help shows a duration; a timestamp would change each time.
        .default(time("30d"), "30d"),
    )
    .option("--until <moment>", "only requests before this time (default: now)", time)
    .option("--goal <goal>", "only this goal", boundedId)
    .option("--models <file>", "model registry file, for records whose own registry is not stored any more")
    .addHelpText(
      "after",
      "\nExample: smart-gateway policy backtest new.yaml --since 7d --json | jq .after.cost_nano_usd",
    )
    .action(run);
}

async function run(file: string, options: BacktestOptions): Promise<void> {
  checkSpan(options);
  const { since: fromMs, until, goal, models } = options;
  const loaded = await loadConfig({ policyPath: file, registryPath: fileOr(models, "MODEL_REGISTRY_PATH") });
  const { policy, registry, learned } = valid(loaded).config;
  await withRecords(async (store) => {
    const nowMs = Date.now();
    const toMs = until ?? nowMs;
    const bar = progress("replaying", (await store.summary({ fromMs, toMs }, {}, nowMs)).requests);
    const beganMs = performance.now();
    const result = await backtest({
      records: store.export({ fromMs, toMs, ...(goal === undefined ? {} : { goal }) }),
      policy,
      registry,
      learned,
      configuration: (hash) => store.config(hash),
      onProgress: (done) => bar.at(done),
    });
    bar.end();
    const tookMs = Math.round(performance.now() - beganMs);
    print({ ...result, took_ms: tookMs }, options, reportText(result, tookMs));
  });
}

const maxChangesShown = 20;

function reportText(result: BacktestResult, tookMs: number): string {
  const { requests, skipped, changed, relabelled, estimated, before, after, changes } = result;
  if (requests === 0) {
    return `Nothing to replay: ${skipped === 0 ? "there are no decision records" : `${skipped} refusals before a decision`} in this span.`;
  }
  const delta = after.cost_nano_usd - before.cost_nano_usd;
  const headline =
    changed === 0 && relabelled === 0
      ? `Nothing changes: all ${requests} requests would have gone where they went.`
      : `${changed} of ${requests} requests would have gone elsewhere; ${delta < 0 ? "saves" : "costs"} ${dollarText(Math.abs(delta))}${delta > 0 ? " more" : ""}.`;
  const days = result.days.map((day) => ({
    utc_day: day.day,
    recorded: dollarText(day.before_nano_usd),
    under_the_policy: dollarText(day.after_nano_usd),
    cap_hits: day.cap_hits_before,
    cap_hits_then: day.cap_hits_after,
  }));
  const notes = [
    `Replayed in ${(tookMs / 1_000).toFixed(1)} s. ${skipped} refusals before a decision are left out.`,
    ...(estimated === 0 ? [] : [`The cost of ${estimated} requests is a guess, because they brought no answer.`]),
    "Kinds, dimensions and redactions are as they were recorded: they come from text, which is not kept.",
  ];
  return [
    headline,
    textTable(sideRows(result), ["tier", "recorded", "under_the_policy"]),
    ...(changes.length === 0 ? [] : [changesTable(changes)]),
    textTable(days, ["utc_day", "recorded", "under_the_policy", "cap_hits", "cap_hits_then"]),
    notes.join("\n"),
  ].join("\n\n");
}

/** How many requests went to each tier, or were refused, and what all of them cost. */
function sideRows({ requests, before, after }: BacktestResult) {
  const tiers = new Set([...before.by_tier, ...after.by_tier].flatMap(({ tier }) => tier ?? []));
  const share = (count: number) => `${count} (${Math.round((100 * count) / requests)}%)`;
  const countIn = (side: BacktestResult["before"], tier: string) =>
    side.by_tier.find((each) => each.tier === tier)?.requests ?? 0;
  return [
    ...[...tiers].map((tier) => ({
      tier,
      recorded: share(countIn(before, tier)),
      under_the_policy: share(countIn(after, tier)),
    })),
    { tier: "refused", recorded: share(before.refused), under_the_policy: share(after.refused) },
    { tier: "cost", recorded: dollarText(before.cost_nano_usd), under_the_policy: dollarText(after.cost_nano_usd) },
  ];
}

function changesTable(changes: BacktestResult["changes"]): string {
  const rows = changes.slice(0, maxChangesShown).map((change) => ({
    requests: change.requests,
    went_to: change.from_model ?? "refused",
    because: change.from_cause,
    would_go_to: change.to_model ?? "refused",
    then_because: change.to_cause,
    cost: `${change.delta_nano_usd < 0 ? "-" : "+"}${dollarText(Math.abs(change.delta_nano_usd))}`,
    for_example: change.example_decision_id,
  }));
  return textTable(rows, ["requests", "went_to", "because", "would_go_to", "then_because", "cost", "for_example"]);
}
