import type { CallerKey } from "#domain/chat.ts";
import { lowerCap, type NanoUsd, zeroUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import type { HealthView } from "#health/health.ts";
import type { Spend } from "#ledger/ledger.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { Configuration } from "./ports.ts";

const nothing = { spent: zeroUsd, held: zeroUsd };

/** What `decide` looks at, taken now. Without `spend` nothing counts as spent: that is the dry run. */
export function takeSnapshot(
  { policy, registry, caps }: Configuration,
  health: HealthView,
  size: RequestSize,
  spend?: Spend,
  key?: CallerKey,
): Writable<Snapshot> {
  const goalHard = spend?.goalHardOverride ?? caps.goalHard;
  const dayHard = spend?.dayHardOverride ?? caps.dayHard;
  const snapshot: Writable<Snapshot> = {
    policy,
    registry,
    health,
    size,
    spend: spend === undefined ? { goal: nothing, day: nothing } : spendView(spend, key?.dayHard),
    caps: {
      goalHard,
      dayHard,
      goalSoft: lowerCap(caps.goalSoft, goalHard),
      daySoft: lowerCap(caps.daySoft, dayHard),
    },
  };
  // Seldom there, so that snapshots are of one shape.
  const { goalHardOverride, dayHardOverride } = spend ?? {};
  if (goalHardOverride !== undefined || dayHardOverride !== undefined)
    snapshot.ownCaps = {
      ...(goalHardOverride !== undefined && { goalHard: goalHardOverride }),
      ...(dayHardOverride !== undefined && { dayHard: dayHardOverride }),
    };
  return snapshot;
}

/** What only a request of a conversation has, and its caller. */
type OfConversation = { readonly [K in "affinity" | "verdict"]?: Snapshot[K] | undefined } & {
  readonly key?: CallerKey | undefined;
};

/** The same for an ask that was inferred from a chat request. */
export function snapshotOfAsk(
  assessment: Assessment,
  configuration: Configuration,
  health: HealthView,
  spend: Spend | undefined,
  { affinity, verdict, key }: OfConversation,
): Snapshot {
  const { size, scale, evidence, prose } = assessment;
  const snapshot = takeSnapshot(configuration, health, size, spend, key);
  snapshot.scale = scale;
  if (evidence.length > 0) snapshot.runEvidence = evidence;
  if (prose > 0) snapshot.prose = prose;
  if (affinity !== undefined) snapshot.affinity = affinity;
  if (verdict !== undefined) snapshot.verdict = verdict;
  return snapshot;
}

/** Spent and held as `decide` sees them; a key only where it has a cap. */
export function spendView({ goalAccount: goal, dayAccount: day, keyAccount }: Spend, hard?: NanoUsd): SpendView {
  if (keyAccount === undefined || hard === undefined) return { goal, day };
  return { goal, day, key: { spent: keyAccount.spent, held: keyAccount.held, hard } };
}
