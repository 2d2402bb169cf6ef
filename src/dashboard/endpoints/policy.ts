import { z } from "zod";
import { parseConfig, readText } from "#config/config-file.ts";
import { loadConfig } from "#config/load-config.ts";
import { checkPolicyText } from "#config/load-policy.ts";
import type { Problem } from "#config/problem.ts";
import { endpoint } from "#dashboard/endpoint.ts";
import type { EventStream } from "#dashboard/event-stream.ts";
import { changedKeys, policyKeys } from "#operator/policy.ts";
import { dayMs } from "#operator/query.ts";
import type { OperatorSources } from "#operator/sources.ts";
import type { BacktestResult } from "#records/backtest/backtest.ts";

const policyText = z.string().max(262_144).describe("YAML or JSON; may be partial.");
const BacktestBody = z.strictObject({
  policy: policyText,
  since_ms: z.number().optional().describe("Time of the oldest record; 30 days ago when absent."),
});

export type BacktestEvent =
  | { readonly kind: "progress"; readonly done: number; readonly total: number }
  | { readonly kind: "result"; readonly result: BacktestResult; readonly took_ms: number }
  | { readonly kind: "problem"; readonly detail: string; readonly problems: readonly Problem[] };

/** The policy in force, where each value comes from, and what an edited one changes or would have changed. */
export function policyEndpoints(sources: OperatorSources) {
  const { config, configStatus, files } = sources;
  let isReplaying = false;
  return {
    "GET policy": endpoint({
      about: "The policy in force, where each value comes from, and the problems of the files as they are now.",
      answer() {
        const { state, hash, loadedAtMs } = configStatus();
        const { policyPath: path } = files;
        const read = path === undefined ? undefined : readText(path, "ROUTING_POLICY_PATH");
        const text = read?.kind === "ok" ? read.text : undefined; // `problems` says what is wrong with it
        const parsed = path === undefined || text === undefined ? undefined : parseConfig(text, path);
        const checked = state === "refused" ? loadConfig(files) : undefined;
        return {
          file: path ?? null,
          state,
          config_hash: hash,
          policy_hash: sources.policyHash(),
          loaded_at_ms: loadedAtMs,
          problems: checked?.kind === "invalid" ? checked.problems : [],
          text: text ?? "# The defaults are in force. Write only the keys that you change.\n",
          keys: policyKeys(config().policy, parsed?.kind === "ok" ? parsed.document : undefined),
        };
      },
    }),

    "POST policy/check": endpoint({
      about: "What is wrong with an edited policy, and where it differs from the policy in force.",
      body: z.strictObject({ policy: policyText }),
      answer({ body }) {
        const checked = checkPolicyText(body.policy, config().registry);
        if (checked.kind === "invalid") return { ok: false, problems: checked.problems, changes: [] };
        return { ok: true, problems: [], changes: changedKeys(config().policy, checked.policy) };
      },
    }),

    "POST policy/backtest": endpoint({
      about:
        "Replays recorded tasks under an edited policy, one replay at a time: `progress` several times, then `result` or `problem`.",
      body: BacktestBody,
      events({ body }, stream: EventStream<BacktestEvent>) {
        const aborted = new AbortController();
        const fail = (detail: string) => stream.send({ kind: "problem", detail, problems: [] });
        if (isReplaying) {
          fail("Another backtest is running. Wait for its end.");
          stream.end();
          return () => {};
        }
        isReplaying = true;
        replay(sources, body, stream, aborted.signal)
          .catch(() => fail("The records could not be replayed: the store does not answer, or the backtest was ended."))
          .finally(() => {
            isReplaying = false;
            stream.end();
          });
        return () => aborted.abort();
      },
    }),
  };
}

/** Records that are replayed when nobody says since when. */
const usualDays = 30;
const progressEveryMs = 200;

async function replay(
  { config, clock, records }: OperatorSources,
  { policy, since_ms }: z.output<typeof BacktestBody>,
  stream: EventStream<BacktestEvent>,
  signal: AbortSignal,
): Promise<void> {
  const current = config();
  const checked = checkPolicyText(policy, current.registry);
  if (checked.kind === "invalid") {
    stream.send({ kind: "problem", detail: "The edited policy is not valid.", problems: checked.problems });
    return;
  }
  const toMs = Math.ceil(clock.now()) + 1;
  const range = { fromMs: since_ms ?? toMs - usualDays * dayMs, toMs };
  // Floods of refusals are one record for many requests, so there may be fewer.
  const total = (await records.summary(range)).requests;
  const begunMs = clock.monotonic();
  let sentMs = Number.NEGATIVE_INFINITY;
  const onProgress = (done: number) => {
    if (clock.monotonic() - sentMs < progressEveryMs) return;
    sentMs = clock.monotonic();
    stream.send({ kind: "progress", done: Math.min(done, total), total });
  };
  onProgress(0);
  const { runBacktest } = await import("#operator/backtest.ts");
  const request = { policy: checked.policy, registry: current.registry, filter: range, onProgress, signal };
  const result = await runBacktest(records, request);
  stream.send({ kind: "result", result, took_ms: Math.round(clock.monotonic() - begunMs) });
}
