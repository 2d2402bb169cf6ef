import type { JsonObject, ReceivedBody } from "#domain/chat.ts";
import type { Model, Role } from "#domain/model.ts";
import type { Permit } from "#health/health.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { outputBoundOf } from "#pipeline/decide/select/budget.ts";
import { fallbacksFor } from "#pipeline/decide/select/select-model.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import type { AttemptRecord } from "#records/record.ts";
import { ignoreCallerFaults } from "./caller-faults.ts";
import { forwardedBody, priceLimitOf } from "./forwarded-body.ts";
import { toolTurnRule } from "./tool-turn-reasoning.ts";

/** What is to be executed: the models to try in order, and how to make the call for each. */
export interface ExecutionPlan {
  readonly context: RequestContext;
  readonly stream: boolean;
  readonly purpose: AttemptRecord["purpose"];
  /** The models in the order in which they are tried, by index from 0; undefined after the last. */
  candidate(index: number): Model | undefined;
  bodyFor(model: Model): JsonObject;
  /** What such a body is made of, where the bytes that were received may be sent. */
  readonly received?: ReceivedBody | undefined;
  /** What the hold of each attempt is made of. */
  readonly size: RequestSize;
  /** See `OpenAttempt`. */
  readonly inputTokensBound: number | undefined;
  readonly pricedByCost: boolean;
  /** The permit that reports this request's verdicts about the model's health. */
  permitFor(permit: Permit, model: Model): Permit;
  /** The caller's own `provider` narrows the choice of hosts: that none is left says nothing about our prices then. */
  readonly hostsNarrowed: boolean;
  /** Number of the first attempt; unique within the decision together with those that follow. */
  readonly firstAttempt: number;
  readonly maxAttempts: number;
  /** Monotonic milliseconds at which the request must have ended. */
  readonly deadlineMs: number;
}

/** The plan for a routed request: its model, then the fallback chain. */
export class RequestPlan implements ExecutionPlan {
  readonly context: RequestContext;
  readonly stream: boolean;
  readonly purpose = "EXECUTE";
  readonly received: ReceivedBody | undefined;
  readonly pricedByCost: boolean;
  readonly hostsNarrowed: boolean;
  readonly firstAttempt: number;
  readonly maxAttempts: number;
  readonly deadlineMs: number;
  readonly size: RequestSize;
  readonly inputTokensBound: number;
  readonly #routed: RoutedDecision;
  readonly #ports: Ports;
  readonly #selected: string;
  readonly #first: Model | undefined;
  /** Most requests need no fallback, so the models are listed when one is asked for. */
  #chain: readonly Model[] | undefined;

  /** @param firstAttempt 1, or 2 where 1 was the scout's: both belong to one decision in the ledger */
  constructor(context: RequestContext, routed: RoutedDecision, ports: Ports, firstAttempt: number) {
    const { request, configuration, assessment, deadlineMs } = context;
    this.context = context;
    this.firstAttempt = firstAttempt;
    this.stream = request.stream;
    this.received = request.received;
    this.pricedByCost = request.surcharge !== undefined;
    this.hostsNarrowed = request.body["provider"] != null;
    this.maxAttempts = configuration.policy.upstream.max_attempts;
    this.deadlineMs = deadlineMs;
    this.size = assessment.size;
    this.inputTokensBound = assessment.size.inputTokensBound;
    this.#routed = routed;
    this.#ports = ports;
    this.#selected = routed.decision.model ?? "";
    this.#first = configuration.registry.models.get(this.#selected);
    // A degraded model sheds a share of its requests: the first fallback is then tried before it.
    if (ports.health.shed(this.#selected)) this.#chain = this.#shedChain();
  }

  candidate(index: number): Model | undefined {
    if (index === 0 && this.#chain === undefined && this.#first !== undefined) return this.#first;
    this.#chain ??= this.#chainOf();
    return this.#chain[index];
  }

  bodyFor(model: Model): JsonObject {
    const { request, redacted, configuration } = this.context;
    // The hold covers more than the model can write where a caller grants it to reasoning; the call never asks for more.
    const outputBound = Math.min(outputBoundOf(model, this.size), model.maxOutputTokens);
    const priceLimit = priceLimitOf(model, this.size, configuration);
    const reasoning = toolTurnRule(model, configuration);
    return forwardedBody(request, redacted.body, model, outputBound, priceLimit, reasoning);
  }

  permitFor(permit: Permit, model: Model): Permit {
    const { request } = this.context;
    const compared = this.#ports.callerEvidence.permitFor(permit, request.caller);
    return ignoreCallerFaults(compared, model, { body: request.body, size: this.size });
  }

  /** The decision's model, then its fallbacks. */
  #chainOf(): readonly Model[] {
    const { models } = this.context.configuration.registry;
    const fallbacks = fallbacksFor(this.#selected, this.#routed.decision.hard_rule, this.#routed.snapshot);
    return [this.#selected, ...fallbacks].flatMap((key) => models.get(key) ?? []);
  }

  #shedChain(): readonly Model[] {
    const chain = this.#chainOf();
    const next = chain[1];
    return next !== undefined && mayShed(this.#first, next, this.context)
      ? [...chain.slice(1), ...chain.slice(0, 1)]
      : chain;
  }
}

/** Which tier a role belongs to: free, flash, pro. The emergency model is the fallback of the senior one and costs about as much. */
const tierOf: { readonly [R in Role]: number } = { scout: 0, worker: 1, senior: 2, emergency: 2 };

/**
 * Whether a DEGRADED model may pass this request to the next model of the chain. Down or sideways it always may; up a tier
 * costs more and is what the policy's `health.shed_upwards` decides. Fail-over after a failed attempt is not limited.
 */
function mayShed(from: Model | undefined, to: Model, { configuration, assessment }: RequestContext): boolean {
  if (from === undefined || tierOf[to.role] <= tierOf[from.role]) return true;
  const rule = configuration.policy.health.shed_upwards;
  return rule === "always" || (rule === "not_housekeeping" && assessment.housekeeping === undefined);
}
