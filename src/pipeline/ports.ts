import type { Policy } from "#config/policy.ts";
import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import type { Caps } from "#domain/money/money.ts";
import type { HealthRegistry } from "#health/health.ts";
import type { Ledger, Reservation, ReserveReply } from "#ledger/ledger.ts";
import type { CallsInFlight } from "#pipeline/execute/calls-in-flight.ts";
import type { FirstEventTimes } from "#pipeline/execute/first-event-times.ts";
import type { RetryBudget } from "#pipeline/execute/retry-budget.ts";
import type { TaskMemory } from "#pipeline/task/task-memory.ts";
import type { Memory } from "#platform/lru-map.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import type { PrivacyEngine } from "#privacy/redaction.ts";
import type { RequestRecord } from "#records/record.ts";
import type { Upstream } from "#upstream/upstream.ts";
import type { FieldRules } from "./field-rules.ts";

/** Everything outside itself that a chat request may use. `gateway/start.ts` chooses the implementations. */
export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly ledger: Ledger;
  /** Called with each answer of the ledger to a reservation. Must not throw. */
  readonly onReserved?: (reservation: Reservation, reply: ReserveReply) => void;
  readonly health: HealthRegistry;
  readonly upstream: Upstream;
  readonly tasks: TaskMemory;
  /** Which model a conversation was last routed to: the one that has its context in the prompt cache. */
  readonly conversations: Memory<ModelKey>;
  readonly retryBudget: RetryBudget;
  readonly firstEventTimes: FirstEventTimes;
  readonly callsInFlight: CallsInFlight;
  /** Ids that are never given twice. */
  readonly newId: () => string;
  /** The configuration in force now; a request keeps the one it began with. */
  readonly config: () => Configuration;
  /** Takes the record of each request that has ended. Must not throw. */
  readonly record: (record: RequestRecord) => void;
}

/** What an operator can change while the gateway runs, validated together. */
export interface Configuration {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly caps: Caps;
  /** What is done with request fields that may change model, terms or price. */
  readonly fields: FieldRules;
  readonly privacy: PrivacyEngine;
  /** The aggregator takes a price limit, and the policy wants it sent. Absent: no. */
  readonly priceLimit?: boolean;
  /** The upstream does not bill calls that it answers with an error. Absent: it may. */
  readonly failedCallsFree?: boolean;
  /** The upstream is known to refuse tool runs without reasoning, for models that leave that to it: without `reasoning_content`, or
   * without any reasoning. */
  readonly wantedReasoning?: "required" | "any_name" | undefined;
}
