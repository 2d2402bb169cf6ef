import type { Model, Price } from "#domain/model.ts";
import { formatUsd, maxUsd, type NanoUsd, withSurcharge } from "#domain/money/money.ts";
import { highestRates, priceWithCacheWrites } from "#domain/money/prices.ts";
import { highestInputRateOf, holdFor } from "#domain/money/tokens.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Choice, Evidence } from "#pipeline/decide/choice.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { RequestSize } from "#pipeline/request-size.ts";

/**
 * The output tokens one choice may have, for which money is held: at least the `max_tokens` sent upstream, at most what
 * the model can write. Who grants reasoning more than the whole answer may get both.
 */
export function outputBoundOf(model: Model, size: RequestSize): number {
  const asked = size.requestedOutputTokens ?? Math.min(model.defaultOutputTokens, model.maxOutputTokens);
  const bound = Math.max(asked, size.otherOutputTokens ?? 0);
  const reasoning = size.reasoningTokens ?? 0;
  return Math.min(reasoning < bound ? bound : bound + reasoning, model.maxOutputTokens);
}

/** The most one attempt on this model can cost: what is reserved, and what the hard caps are asked about. */
export function holdOf(model: Model, size: RequestSize): NanoUsd {
  return upperBoundOf(model, size, size.inputTokensBound);
}

/** The most that a call can cost whatever was asked: its model has written all that it can. */
export function mostOf(model: Model, size: RequestSize): NanoUsd {
  return upperBoundOf(model, size, size.inputTokensBound, model.maxOutputTokens);
}

/** What one attempt on this model is likely to cost at most: what the soft caps are asked about, and what is shown. */
export function estimateOf(model: Model, size: RequestSize): NanoUsd {
  return upperBoundOf(model, size, Math.min(size.inputTokensEstimate, size.inputTokensBound));
}

/** Stage 4, first half: a choice of the senior model that is not firm steps down where it would pass a soft cap. */
export function withinSoftCap(choice: Choice, snapshot: Snapshot, evidence: Evidence): Choice {
  if (choice.kind !== "execute" || choice.role !== "senior" || choice.firm) return choice;
  const senior = snapshot.registry.byRole.senior;
  if (senior === undefined) return choice;
  const cap = capBeforeSenior(snapshot);
  if (cap === undefined) return choice;
  evidence.push(`stepped_down_from=${senior.key}`, `wanted_by=${choice.cause}`);
  addCapEvidence(cap, snapshot, evidence);
  return { kind: "execute", role: "worker", cause: "budget_soft_cap", firm: false };
}

/**
 * The cap at which an optional choice of the senior model steps down; undefined when there is none. Where only its
 * bound, which is above the estimate, reaches the hard cap it steps down too: refusing what the worker could do helps
 * nobody.
 */
function capBeforeSenior(snapshot: Snapshot): Cap | undefined {
  const senior = snapshot.registry.byRole.senior;
  if (senior === undefined) return undefined;
  return (
    exceededCap(softCaps, estimateOf(senior, snapshot.size), snapshot) ??
    exceededCap(hardCaps, holdOf(senior, snapshot.size), snapshot)
  );
}

/** The decision after a hard cap has refused its hold. What the decision saw stays in its evidence. */
export function deniedByHardCap(decision: RoutingDecision): RoutingDecision {
  return {
    ...decision,
    action: "DENY",
    model: null,
    purpose: "NONE",
    cause: "budget_hard_cap_exceeded",
    hard_rule: false,
  };
}

/** Stage 4, second half: whether an attempt on this model fits under both hard caps. */
export function withinHardCaps(model: Model, snapshot: Snapshot): boolean {
  return exceededCap(hardCaps, holdOf(model, snapshot.size), snapshot) === undefined;
}

/** Says which hard cap the model would pass, and by which numbers. */
export function addHardCapEvidence(model: Model, snapshot: Snapshot, evidence: Evidence): void {
  const hold = holdOf(model, snapshot.size);
  const cap = exceededCap(hardCaps, hold, snapshot);
  if (cap === undefined) return;
  evidence.push(`cost_bound_usd=${formatUsd(hold)}`);
  addCapEvidence(cap, snapshot, evidence);
  // Not the policy's: an operator has set it for this account.
  if (cap.account !== "key" && snapshot.ownCaps?.[`${cap.account}Hard`] !== undefined)
    evidence.push("budget_cap_from=operator");
}

interface Cap {
  readonly account: "goal" | "day" | "key";
  readonly level: "soft" | "hard";
}

const softCaps = (["goal", "day"] as const).map((account): Cap => ({ account, level: "soft" }));
const hardCaps = (["goal", "day", "key"] as const).map((account): Cap => ({ account, level: "hard" }));

/** What a cap counts, and its limit; undefined for a key without one. */
function accountFor({ account, level }: Cap, { spend, caps }: Snapshot) {
  if (account === "key") return spend.key;
  const { spent, held } = spend[account];
  return { spent, held, hard: caps[`${account}${level === "soft" ? "Soft" : "Hard"}`] };
}

/** The first of the caps that `amount` more would pass; undefined when it fits under all. */
function exceededCap(caps: readonly Cap[], amount: NanoUsd, snapshot: Snapshot): Cap | undefined {
  for (const cap of caps) {
    const found = accountFor(cap, snapshot);
    if (found !== undefined && found.spent + found.held + amount > found.hard) return cap;
  }
  return undefined;
}

function addCapEvidence(cap: Cap, snapshot: Snapshot, evidence: Evidence): void {
  const found = accountFor(cap, snapshot);
  if (found === undefined) return;
  const { account, level } = cap;
  evidence.push(
    `budget_cap=${account}_${level}`,
    `budget_${account}_spent_usd=${formatUsd(found.spent)}`,
    `budget_${account}_held_usd=${formatUsd(found.held)}`,
    `budget_${account}_${level}_usd=${formatUsd(found.hard)}`,
  );
}

/** The prices that a request of this kind meets at a model; its hold and its settlement use the same. */
export function priceOf(model: Model, size: RequestSize): Price {
  return size.writesCache === true ? priceWithCacheWrites(model.price) : model.price;
}

/** `holdFor` with the surcharge; a request of absurd size (`max_tokens: 1e15`) is over any cap, and no error. */
function upperBoundOf(
  model: Model,
  size: RequestSize,
  inputTokens: number,
  outputBound = outputBoundOf(model, size),
): NanoUsd {
  const outputTokens = outputBound + (size.predictedTokens ?? 0);
  const price = priceOf(model, size);
  const rates = highestRates(price, inputTokens);
  const millionths = inputTokens * highestInputRateOf(rates) + size.choices * outputTokens * rates.output;
  if (millionths / 1_000_000 > 1e15) return maxUsd;
  const hold = holdFor({ inputTokens: Math.ceil(inputTokens), outputTokens, choices: size.choices }, price);
  return withSurcharge(hold, size.surcharge);
}
