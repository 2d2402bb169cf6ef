import {
  type Failure,
  type Health,
  type HealthRules,
  noEvidence,
  type StateData,
  type Tally,
  type TransitionContext,
} from "./model-health.ts";

/** The evidence in a model's health: verdicts counted in slices of a window, and what follows from their shares. Pure. */

const slicesPerWindow = 6;

/** Low traffic recovers on this many verdicts in this many windows (5 in 5 minutes). */
const lowTrafficWindows = 5;
const lowTrafficMinimum = 5;

/** Everything the window still holds, added up. */
export function windowTally(health: Health, nowMs: number, rules: HealthRules): Tally {
  const fromMs = nowMs - rules.window_ms;
  const sum = { startMs: fromMs, ok: 0, slow: 0, failed: 0, garbage: 0 };
  for (const slice of health.slices) {
    if (slice.startMs <= fromMs) continue;
    sum.ok += slice.ok;
    sum.slow += slice.slow;
    sum.failed += slice.failed;
    sum.garbage += slice.garbage;
  }
  return sum;
}

/**
 * The share of a DEGRADED model's requests that go to the next model of the chain: by how much it fails (a slow
 * answer is no relief, so it counts as asked and not as answered), and after probes a ramp that ends one window later.
 */
export function shedShare(health: Health, nowMs: number, rules: HealthRules): number {
  if (health.state !== "DEGRADED") return 0;
  const seen = windowTally(health, nowMs, rules);
  const asked = seen.ok + seen.failed;
  const byEvidence = (asked - 1.5 * (seen.ok - seen.slow)) / (asked + 1);
  const left = health.rampFromMs === null ? 0 : 1 - (nowMs - health.rampFromMs) / Math.max(1, rules.window_ms);
  return Math.min(rules.shed_max, Math.max(0, byEvidence, left * rules.shed_max));
}

type Verdict = Omit<Tally, "startMs">;

export function withAnswer<H extends Health>(from: H, slow: boolean, at: TransitionContext): H {
  const verdict = { ok: 1, slow: slow ? 1 : 0, failed: 0, garbage: 0 };
  return { ...withVerdict(from, verdict, at), failedInARow: 0, garbageInARow: 0, notFound: 0 };
}

export function withFailure<H extends Health>(from: H, { as }: Pick<Failure, "as">, at: TransitionContext): H {
  const garbage = as === "garbage" ? 1 : 0;
  return {
    ...withVerdict(from, { ok: 0, slow: 0, failed: 1, garbage }, at),
    failedInARow: from.failedInARow + 1,
    garbageInARow: garbage > 0 ? from.garbageInARow + 1 : 0,
    notFound: from.notFound + (as === "not_found" ? 1 : 0),
  };
}

/** Counts a verdict in the newest slice of the window, and for the recovery of a model that is DEGRADED. */
function withVerdict<H extends Health>(from: H, verdict: Verdict, at: TransitionContext): H {
  const sliceMs = Math.max(1, Math.ceil(at.rules.window_ms / slicesPerWindow));
  const startMs = Math.floor(at.ms / sliceMs) * sliceMs;
  const newest = from.slices.at(-1);
  const slices =
    newest !== undefined && newest.startMs >= startMs
      ? [...from.slices.slice(0, -1), add(newest, verdict)]
      : [...from.slices.slice(1 - slicesPerWindow), { startMs, ...verdict }];
  const recovery = from.state === "DEGRADED" ? recoveryEvidence(from, verdict, at) : {};
  return { ...from, slices, lastVerdictMs: at.ms, ...recovery };
}

function add(sum: Tally, verdict: Verdict): Tally {
  return {
    startMs: sum.startMs,
    ok: sum.ok + verdict.ok,
    slow: sum.slow + verdict.slow,
    failed: sum.failed + verdict.failed,
    garbage: sum.garbage + verdict.garbage,
  };
}

export function emptyTally(startMs: number): Tally {
  return { startMs, ok: 0, slow: 0, failed: 0, garbage: 0 };
}

/** Edge 2, the evidence: a window is judged once it has enough verdicts; with little traffic a long one counts for two. */
function recoveryEvidence(from: Health<"DEGRADED">, verdict: Verdict, at: TransitionContext): StateData["DEGRADED"] {
  const { window_ms, recovered_minimum } = at.rules;
  const window = add(from.recovery.window, verdict);
  const answers = window.ok + window.failed;
  const lastedMs = at.ms - window.startMs;
  let worth = 0;
  if (lastedMs >= window_ms && answers >= recovered_minimum) worth = 1;
  else if (lastedMs >= lowTrafficWindows * window_ms && answers >= lowTrafficMinimum) worth = 2;
  const isGood =
    window.failed < at.rules.recovered_failure_share * answers && window.slow < at.rules.recovered_slow_share * answers;
  const good = isGood ? from.recovery.good + worth : 0;
  const recovery = worth === 0 ? { ...from.recovery, window } : { good, window: emptyTally(at.ms) };
  return { unproven: from.unproven && verdict.ok === 0, rampFromMs: from.rampFromMs, recovery };
}

export function withoutEvidence<H extends Health>(from: H): H {
  return { ...from, ...noEvidence };
}
