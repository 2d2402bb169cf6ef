import { nanoUsd } from "#domain/money/money.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aRuntime, aSnapshot, aTask } from "#pipeline/decide/fixtures.ts";
import { aRequestRecord } from "#records/fixtures.ts";
import type { RequestRecord, RoutedInputs } from "#records/record.ts";

/** Every count has a different value, so that none can be mistaken for another. */
const features = {
  characters: 1,
  topics: { words: 2, distinctWords: 3, counts: new Map() },
  codeLines: 4,
  traceLines: 5,
  listItems: 6,
  options: 7,
  numbers: 8,
  mathSigns: 9,
  commas: 10,
  identifiers: 11,
  denseCharacters: 12,
  verbLast: true,
};

/** A request that was decided from these inputs. */
export function aRequest(runtimeGiven: Parameters<typeof aRuntime>[0] = {}): RequestRecord {
  const metadata = { routing: "pro", scout: true, repo_id: "a name that the caller chose" };
  const { instruction: _, ...task } = aTask({ metadata });
  const runtime = aRuntime(runtimeGiven);
  const snapshot = aSnapshot({});
  const decision = decide({ ...task, instruction: "" }, runtime, snapshot);
  const request = aRequestRecord({
    task,
    runtime,
    snapshot,
    decision,
    features: features as unknown as RoutedInputs["features"],
  });
  return {
    ...request,
    routed: {
      ...request.routed,
      decision: { ...decision, action: "DENY", model: null },
      housekeeping: "title",
      namesTask: true,
    },
  };
}

/** An attempt with a different value in every field. */
const attempt: RequestRecord["attempts"][number] = {
  id: "d.3",
  model: "flash",
  purpose: "EXECUTE",
  outcome: "rate_limited",
  upstreamStatus: 429,
  startedMs: 12.345_678,
  day: "1970-01-01",
  ledgerMs: 1.234_567,
  firstTokenMs: 2.345_678,
  durationMs: 3.456_789,
  holdNanoUsd: nanoUsd(41),
  costNanoUsd: nanoUsd(42),
  costSource: "usage",
  generationId: "g",
  host: "h",
  ownAccount: true,
  usage: { input: 51, cachedInput: 52, output: 53, reasoning: 54, cacheWrite: 55 },
  otherModel: "other",
};

/** Requests that together have a value in every field: with and without a run, refused before routing, with two attempts. */
export function variousRequests(): readonly RequestRecord[] {
  const run = {
    attempts: 1,
    flash_attempts: 2,
    same_error_count: 3,
    tests_failed: 4,
    files_touched: 5,
    tool_depth: 6,
    last_model: "m",
  };
  const { routed: _, ...refused } = aRequest();
  const whole = aRequest();
  const { routed } = whole;
  return [
    aRequest(),
    aRequest(run),
    { ...refused, errorCode: "budget_exceeded", outcome: "refused", status: 402 },
    {
      ...whole,
      begunMs: 10.000_4,
      attempts: [attempt, { ...attempt, id: "d.4", ledgerMs: 7.000_5 }],
      redactions: [{ rule: "a", count: 2 }],
      forwardedFields: ["plugins"],
      priceVersion: "p",
      timings: { gateMs: 0.123_45, decisionMs: 0.234_56, firstTokenMs: 1.000_49, totalMs: 99.499_9 },
      ...(routed === undefined
        ? {}
        : {
            routed: {
              ...routed,
              ledgerSpend: {
                goal: { spent: nanoUsd(1), held: nanoUsd(2) },
                day: { spent: nanoUsd(3), held: nanoUsd(4) },
              },
              snapshot: {
                ...routed.snapshot,
                health: { flash: { state: "UNHEALTHY", routable: false, sinceMs: 1, reason: "r" } },
                ownCaps: { goalHard: nanoUsd(9) },
                runEvidence: ["errors=1"],
                affinity: { model: "flash", continuation: true },
                draw: 0.5,
                verdict: "pro",
              },
            },
          }),
    },
  ];
}
