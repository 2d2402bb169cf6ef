import { type Failure, type Health, noEvidence, type StateData, type Tally, windowMs } from "./model-health.ts";

/** The evidence in a model's health: verdicts counted in slices of a window, and what follows from their shares. Pure. */
const slicesPerWindow = 6;

/** Edge 2: what each of two windows in a row needs, and the shares that it must stay below. */
const recovered = { minimum: 10, failureShare: 0.05, slowShare: 0.2 };
/** Low traffic recovers on five verdicts in five minutes. */
const lowTraffic = { windows: 5, minimum: 5 };
/** The rest of a DEGRADED model's traffic stays, so that its recovery is seen. */
const shedMax = 0.8;

/** Everything the window still holds, added up. */
export function windowTally({ slices }: Health, nowMs: number): Tally {
  const fromMs = nowMs - windowMs;
  return slices.filter(({ startMs }) => startMs > fromMs).reduce(add, emptyTally(fromMs));
}

/**
 * The share of a DEGRADED model's requests that go to the next model of the chain: by how much it fails (a slow
 * answer is no relief, so it counts as asked and not as answered), and after probes a ramp that ends one window later.
 */
export function shedShare(health: Health, nowMs: number): number {
  if (health.state !== "DEGRADED") return 0;
  const seen = windowTally(health, nowMs);
  const asked = seen.ok + seen.failed;
  const byEvidence = (asked - 1.5 * (seen.ok - seen.slow)) / (asked + 1);
  const left = health.rampFromMs === null ? 0 : 1 - (nowMs - health.rampFromMs) / windowMs;
  return Math.min(shedMax, Math.max(0, byEvidence, left * shedMax));
}

type Verdict = Omit<Tally, "startMs">;

export function withAnswer<H extends Health>(from: H, slow: boolean, ms: number): H {
  const verdict = { ok: 1, slow: slow ? 1 : 0, failed: 0, garbage: 0 };
  return { ...withVerdict(from, verdict, ms), failedInARow: 0, garbageInARow: 0, notFound: 0 };
}

export function withFailure<H extends Health>(from: H, { as, run = 0 }: Failure, ms: number): H {
  const garbage = as === "garbage" ? 1 : 0;
  return {
    ...withVerdict(from, { ok: 0, slow: 0, failed: 1, garbage }, ms),
    failedInARow: as === "failure" ? Math.max(from.failedInARow + 1, run) : from.failedInARow,
    garbageInARow: as === "garbage" ? Math.max(from.garbageInARow + 1, run) : from.garbageInARow,
    notFound: from.notFound + (as === "not_found" ? 1 : 0),
  };
}

/** Counts a verdict in the newest slice of the window, and for the recovery of a model that is DEGRADED. */
function withVerdict<H extends Health>(from: H, verdict: Verdict, ms: number): H {
  const sliceMs = windowMs / slicesPerWindow;
  const startMs = Math.floor(ms / sliceMs) * sliceMs;
  const newest = from.slices.at(-1);
  const slices =
    newest !== undefined && newest.startMs >= startMs
      ? [...from.slices.slice(0, -1), add(newest, verdict)]
      : [...from.slices.slice(1 - slicesPerWindow), { startMs, ...verdict }];
  const recovery = from.state === "DEGRADED" ? recoveryEvidence(from, verdict, ms) : {};
  return { ...from, slices, lastVerdictMs: ms, ...recovery };
}

function add(sum: Tally, { ok, slow, failed, garbage }: Verdict): Tally {
  return {
    ...sum,
    ok: sum.ok + ok,
    slow: sum.slow + slow,
    failed: sum.failed + failed,
    garbage: sum.garbage + garbage,
  };
}

export function emptyTally(startMs: number): Tally {
  return { startMs, ok: 0, slow: 0, failed: 0, garbage: 0 };
}

/** Edge 2, the evidence: a window is judged once it has enough verdicts; with little traffic a long one counts for two. */
function recoveryEvidence(from: Health<"DEGRADED">, verdict: Verdict, ms: number): StateData["DEGRADED"] {
  const window = add(from.recovery.window, verdict);
  const answers = window.ok + window.failed;
  const lastedMs = ms - window.startMs;
  let worth = 0;
  if (lastedMs >= windowMs && answers >= recovered.minimum) worth = 1;
  else if (lastedMs >= lowTraffic.windows * windowMs && answers >= lowTraffic.minimum) worth = 2;
  const isGood = window.failed < recovered.failureShare * answers && window.slow < recovered.slowShare * answers;
  const good = isGood ? from.recovery.good + worth : 0;
  const recovery = worth === 0 ? { ...from.recovery, window } : { good, window: emptyTally(ms) };
  return { unproven: from.unproven && verdict.ok === 0, rampFromMs: from.rampFromMs, recovery };
}

export function withoutEvidence<H extends Health>(from: H): H {
  return { ...from, ...noEvidence };
}
