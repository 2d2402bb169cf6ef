import type { Model } from "#domain/model.ts";
import type { Cause } from "#domain/routing.ts";
import type { Choice, Evidence } from "#pipeline/decide/choice.ts";
import { routable } from "#pipeline/decide/select/select-model.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { exceedsProseBound } from "./score.ts";

/** Over so many turns a switch to the cheaper model must save more than reading the context without a cache costs. */
const horizonTurns = 12;
/** The average turn of recorded agent runs, in new tokens. */
export const averageTurn = { inputTokens: 2_210, outputTokens: 250 };

/** Choices that affinity may change: those made by the score alone. All others were asked for, or are required. */
const byScore: ReadonlySet<Cause> = new Set([
  "score_flash",
  "score_pro",
  "gray_zone_scout",
  "gray_zone_flash",
  "gray_zone_pro",
]);

/**
 * Keeps a conversation on the model that has its context cached. A continuation stays where its ask was routed. A new
 * ask goes up when its score says so, and down only when that pays: a switch costs a cold read of the context, and
 * saves the difference of the models' prices on each of the turns to come.
 */
export function withAffinity(choice: Choice, snapshot: Snapshot, evidence: Evidence): Choice {
  const { affinity, registry } = snapshot;
  if (affinity === undefined || !byScore.has(choice.cause)) return choice;
  const kept = registry.models.get(affinity.model);
  if (kept === undefined || (kept.role !== "worker" && kept.role !== "senior") || !routable(kept, snapshot))
    return choice;
  const wanted = choice.kind === "execute" ? choice.role : undefined;
  if (wanted === kept.role) return choice;
  // In the middle of an ask only a run in trouble changes its model: once, as it stays in trouble until the next ask.
  if (affinity.continuation)
    return wanted === "senior" && exceedsProseBound(snapshot) ? choice : keptOn(kept, evidence);
  if (wanted !== "worker" || kept.role !== "senior") return choice;
  const worker = registry.byRole.worker;
  if (worker === undefined || switchPays(kept, worker, snapshot, evidence)) return choice;
  return keptOn(kept, evidence);
}

function keptOn({ key, role }: Model, evidence: Evidence): Choice {
  evidence.push(`affinity=${key}`);
  return { kind: "execute", role, cause: "affinity", firm: false };
}

/** Whether the cheaper `to` saves more over the turns to come than reading the context cold costs. */
function switchPays(from: Model, to: Model, { size }: Snapshot, evidence: Evidence): boolean {
  const context = size.inputTokensEstimate;
  const cost = context * Math.max(0, to.price.input - to.price.cachedInput);
  const perTurn =
    context * (from.price.cachedInput - to.price.cachedInput) +
    averageTurn.inputTokens * (from.price.input - to.price.input) +
    averageTurn.outputTokens * (from.price.output - to.price.output);
  const saving = horizonTurns * perTurn;
  evidence.push(`switch_cost_usd=${usdOf(cost)}`, `switch_saves_usd=${usdOf(saving)}`, `horizon_turns=${horizonTurns}`);
  return saving > cost;
}

/** From tokens × nano-dollars per million tokens. */
function usdOf(millionthsOfNano: number): string {
  return (millionthsOfNano / 1e15).toFixed(6);
}
