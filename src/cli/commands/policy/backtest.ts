import { type Command, Option } from "commander";
import { exitCodes, exitWith, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { progressBar } from "#cli/progress.ts";
import { textTable } from "#cli/table.ts";
import { parseTime, spanProblem, withRecords } from "#cli/with-records.ts";
import { loadConfig } from "#config/load-config.ts";
import { formatProblems } from "#config/problem.ts";
import { dollarText } from "#domain/money/dollar-text.ts";
import { type BacktestResult, backtest } from "#records/backtest/backtest.ts";
import { boundedId } from "#records/build-record.ts";

interface BacktestOptions {
  readonly since: number;
  readonly until?: number;
  readonly goal?: string;
  readonly models?: string;
  readonly json?: true;
}

/** `smart-gateway policy backtest FILE`: recorded requests, decided again under another policy. */
export function addBacktestCommand(policy: Command, env: NodeJS.ProcessEnv = process.env): void {
  policy
    .command("backtest")
    .description("replay the recorded requests under a policy file, and print what would have changed")
    .argument("<file>", "the policy to try")
    .addOption(
      new Option("--since <moment>", "only requests since this time: 24h, 30d ago, a UTC day, or an ISO 8601 time")
        .argParser((text) => parseTime(text))
        // The help shows a duration; a timestamp would change each time.
        .default(parseTime("30d"), "30d"),
    )
    .option("--until <moment>", "only requests before this time (default: now)", (text) => parseTime(text))
    .option("--goal <goal>", "only this goal", boundedId)
    .option("--models <file>", "model registry file, for records whose own registry is not stored any more")
    .option("--json", "print the result as JSON")
    .action((file: string, options: BacktestOptions) => run(file, options, env));
}

async function run(file: string, options: BacktestOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const emptySpan = spanProblem(options);
  if (emptySpan !== undefined) return failWith(exitCodes.badUsage, emptySpan, options);
  const loaded = await loadConfig({
    policyPath: file,
    registryPath: options.models ?? (env["MODEL_REGISTRY_PATH"] || undefined),
  });
  if (loaded.kind === "invalid") {
    if (options.json) printJson({ ok: false, problems: loaded.problems });
    else console.error(formatProblems(loaded.problems));
    return exitWith(exitCodes.badUsage);
  }
  const { policy, registry, learned } = loaded.config;
  await withRecords(env, options, async (store) => {
    const nowMs = Date.now();
    const range = { fromMs: options.since, toMs: options.until ?? nowMs };
    const progress = progressBar("replaying", (await store.summary(range, {}, nowMs)).requests);
    const beganMs = performance.now();
    const result = await backtest({
      records: store.export({
        fromMs: options.since,
        ...(options.until === undefined ? {} : { toMs: options.until }),
        ...(options.goal === undefined ? {} : { goal: options.goal }),
      }),
      policy,
      registry,
      learned,
      configuration: (hash) => store.config(hash),
      onProgress: (done) => progress.at(done),
    });
    progress.end();
    const tookMs = Math.round(performance.now() - beganMs);
    if (options.json) printJson({ ...result, took_ms: tookMs });
    else print(reportText(result, tookMs));
  });
}

const maxChangesShown = 20;

function reportText(result: BacktestResult, tookMs: number): string {
  const { requests, skipped, changed, relabelled, estimated, before, after, days, changes } = result;
  if (requests === 0) {
    return `Nothing to replay: ${skipped === 0 ? "there are no decision records" : `${skipped} refusals before a decision`} in this span.`;
  }
  const delta = after.cost_nano_usd - before.cost_nano_usd;
  const share = (part: number) => `${Math.round((100 * part) / requests)}%`;
  const tiers = [...new Set([...before.by_tier, ...after.by_tier].map(({ tier }) => tier))].filter(
    (tier) => tier !== null,
  );
  const countOf = (side: BacktestResult["before"], tier: string) =>
    side.by_tier.find((each) => each.tier === tier)?.requests ?? 0;
  const lines = [
    changed === 0 && relabelled === 0
      ? `Nothing changes: all ${requests} requests would have gone where they went.`
      : `${changed} of ${requests} requests would have gone elsewhere; ${delta < 0 ? "saves" : "costs"} ${dollarText(Math.abs(delta))}${delta > 0 ? " more" : ""}.`,
    "",
    textTable(
      ["", "recorded", "", "under the policy", ""],
      [
        ...tiers.map((tier) => [
          tier,
          String(countOf(before, tier)),
          share(countOf(before, tier)),
          String(countOf(after, tier)),
          share(countOf(after, tier)),
        ]),
        ["refused", String(before.refused), share(before.refused), String(after.refused), share(after.refused)],
        ["cost", dollarText(before.cost_nano_usd), "", dollarText(after.cost_nano_usd), ""],
      ],
    ),
  ];
  if (changes.length > 0) {
    lines.push(
      "",
      textTable(
        ["requests", "went to", "because", "would go to", "because", "cost", "for example"],
        changes
          .slice(0, maxChangesShown)
          .map((change) => [
            String(change.requests),
            change.from_model ?? "refused",
            change.from_cause,
            change.to_model ?? "refused",
            change.to_cause,
            `${change.delta_nano_usd < 0 ? "-" : "+"}${dollarText(Math.abs(change.delta_nano_usd))}`,
            change.example_decision_id,
          ]),
      ),
    );
  }
  lines.push(
    "",
    textTable(
      ["UTC day", "recorded", "under the policy", "cap hits", "then"],
      days.map((day) => [
        day.day,
        dollarText(day.before_nano_usd),
        dollarText(day.after_nano_usd),
        String(day.cap_hits_before),
        String(day.cap_hits_after),
      ]),
    ),
    "",
    `Replayed in ${(tookMs / 1_000).toFixed(1)} s. ${skipped} refusals before a decision are left out.` +
      (estimated === 0 ? "" : ` The cost of ${estimated} requests is a guess, because they brought no answer.`),
    "Kinds, dimensions and redactions are as they were recorded: they come from text, which is not kept.",
  );
  return lines.join("\n");
}
