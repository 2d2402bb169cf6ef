import type { ModelKey } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { TokenUsage } from "#domain/money/tokens.ts";
import type { Alias, AskFeatures, RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";

/**
 * What was asked, decided, answered and paid: one record per chat request, the one source of its log line, its metrics
 * and what a dashboard shows. It holds features, numbers, ids and why calls failed; never text of a prompt or an
 * answer, never a secret.
 */
export interface RequestRecord {
  readonly requestId: string;
  readonly decisionId: string;
  readonly atMs: number;
  /** The same moment on the monotonic clock, to which attempts refer. */
  readonly begunMs: number;
  readonly alias: Alias;
  /** Of the caller's token, where it has one. */
  readonly label?: string;
  readonly stream: boolean;
  readonly decision: RoutingDecision;
  /** What the decision was made of. */
  readonly routed?: RoutedInputs;
  /** What the caller read as `error.code`; absent where it got an answer. */
  readonly errorCode?: string;
  /** Status of the answer; 499 when the caller left before it had one. */
  readonly status: number;
  readonly outcome: RequestOutcome;
  /** The model that answered; null when none did. */
  readonly answeredBy: ModelKey | null;
  readonly attempts: readonly AttemptRecord[];
  /** Sum over the attempts of what is known to be owed; holds of unknown outcome are not in it. */
  readonly costNanoUsd: NanoUsd;
  /** Fields of the request that the policy let through although they may change model, terms or price. */
  readonly forwardedFields?: readonly string[];
  /** Names the prices in force when it was received. */
  readonly priceVersion?: string;
  /** Replacements by rule id. */
  readonly redactions: readonly { readonly rule: string; readonly count: number }[];
  readonly timings: {
    /** The privacy gate. */
    readonly gateMs?: number;
    /** From the request's last body byte to the decision. */
    readonly decisionMs: number;
    /** From dispatch to the first answer byte or event; absent when there was none. */
    readonly firstTokenMs?: number;
    readonly totalMs: number;
  };
}

/** The inputs of `decide` and its final decision: after the scout's verdict, where a scout was asked. Holds no text of a prompt. */
export interface RoutedInputs {
  readonly decision: RoutingDecision;
  /** Its instruction is empty. */
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly snapshot: Snapshot;
  readonly features: AskFeatures;
  readonly housekeeping: string | undefined;
  readonly conversationKey: string;
  /** Whether the request is a further turn of an ask. */
  readonly continuation: boolean;
  /** Whether the caller has reported a failure with it. */
  readonly reportedFailure: boolean;
  readonly sessionId: string | undefined;
  /** Whether the caller named the task. */
  readonly namesTask: boolean;
  /** The spend that the ledger saw when it refused the hold. */
  readonly ledgerSpend?: SpendView;
}

export const requestOutcomes = ["answered", "refused", "failed", "broken_stream", "caller_gone"] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

/** One call to the upstream. */
export interface AttemptRecord {
  /** Of its reservation. */
  readonly id: string;
  readonly model: ModelKey;
  readonly purpose: "EXECUTE" | "SCOUT";
  /** `answered`, or the kind of failure; its `reason` is in the upstream's words if it had any: redacted, 300 characters. */
  readonly outcome: string;
  readonly upstreamStatus?: number;
  readonly reason?: string;
  /** Monotonic milliseconds at which it began, with its reservation. */
  readonly startedMs: number;
  /** The UTC day on which the ledger counts it. */
  readonly day?: string;
  /** Milliseconds until the ledger had answered and the call was sent; absent when it was not. */
  readonly ledgerMs?: number;
  /** Milliseconds from dispatch to the first answer byte or event. */
  readonly firstTokenMs?: number;
  readonly durationMs: number;
  readonly holdNanoUsd: NanoUsd;
  /** What it is known to have cost; absent while unknown. */
  readonly costNanoUsd?: NanoUsd;
  /** Where the cost is known from: the ledger's sources, or `hold` where that was charged. */
  readonly costSource?: string;
  /** The aggregator's id of the call. */
  readonly generationId?: string;
  /** The provider that served, as the aggregator names it. */
  readonly host?: string;
  /** The aggregator used the operator's own account with the provider. */
  readonly ownAccount?: boolean;
  /** What the upstream said it cost, where that is too high to be believed. The hold was charged. */
  readonly distrustedCostNanoUsd?: NanoUsd;
  readonly usage?: TokenUsage;
  /** Our prices went with the call as the most it may cost, and the caller did not narrow the choice of hosts further. */
  readonly priceLimited?: true;
  /** What the upstream calls the model that answered, where it is another than the one asked. */
  readonly otherModel?: string;
  /** Whether the upstream said what it cost; said beside `otherModel`, whose price nobody else knows. */
  readonly costStated?: boolean;
}
