import { z } from "zod";
import { featureCount, featureVersion } from "#domain/learned-weights.ts";
import { Cause, TaskKind } from "#domain/routing.ts";

/** What was decided for a new ask; written once. */
export const DecisionPart = z.strictObject({
  version: z.literal(featureVersion),
  features: z.array(z.number()).length(featureCount).readonly(),
  kind: TaskKind,
  tier: z.enum(["flash", "pro"]),
  model: z.string(),
  cause: Cause,
  score: z.number(),
  /** Whether the tier was drawn against the score, and with what probability this tier was to be chosen. */
  explored: z.boolean(),
  probability: z.number().gt(0).max(1),
  /** The decision of the same conversation whose failure this ask follows. */
  retryOf: z.string().optional(),
  /** As long as nothing is heard of the ask, its record stands for so many of them: the others were not written. */
  standsFor: z.int().min(1).optional(),
});
export type DecisionPart = z.infer<typeof DecisionPart>;

/** What later calls of the conversation have shown of the ask. */
export const Signals = z.strictObject({
  /** Failures that the caller has reported (`X-Failure-Class`, `X-Same-Error-Count`). */
  reported: z.int().min(0),
  /** The run has met a hard rule and gone from flash to pro. */
  escalated: z.boolean(),
  /** Failures reported after that. */
  failedAfter: z.int().min(0),
  /** The same ask came again soon. */
  repeated: z.int().min(0),
  /** Another ask came, and no failure with it. */
  wentOn: z.boolean(),
});
export type Signals = z.infer<typeof Signals>;
export const noSignals: Signals = { reported: 0, escalated: false, failedAfter: 0, repeated: 0, wentOn: false };

/** What a caller may report at `POST /v1/route/outcome`. */
export const outcomes = ["solved", "failed"] as const;
export type Outcome = (typeof outcomes)[number];

/** One routed ask with its outcome. */
export interface OutcomeRecord {
  readonly decisionId: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly decision: DecisionPart;
  readonly signals: Signals;
  readonly outcome?: Outcome;
  /** From 0 to 1, from the caller's report. */
  readonly outcomeScore?: number;
}

/** A chat request that was routed to flash or pro; no housekeeping. */
export interface RoutedCall {
  readonly decisionId: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly conversationKey: string;
  /** Whether it is a further turn of an ask; it then gets no record of its own. */
  readonly continuation: boolean;
  readonly tier: "flash" | "pro";
  /** A hard rule sent it to pro. */
  readonly hardRule: boolean;
  /** The caller has reported a failure with it. */
  readonly reportedFailure: boolean;
  /** What was asked. Only its hash is kept after this call. */
  readonly ask: string;
  /** Makes the decision part of a new ask's record; called only for new asks. */
  readonly decision: () => Omit<DecisionPart, "retryOf" | "standsFor">;
}

/** Follows routed asks through their conversations and records their outcomes. */
export interface OutcomeTracker {
  routed(call: RoutedCall): void;
  /** Records the outcome that a caller reports for a decision; false for an unknown decision. Rejects when the store cannot be reached. */
  recordOutcome(decisionId: string, outcome: Outcome, score: number | undefined): Promise<boolean>;
}

/** A record of a store's row; undefined when another release has written it. */
export function readRecord(row: {
  readonly decisionId: string;
  readonly atMs: number;
  readonly decision: string;
  readonly signals: string;
  readonly outcome: string | null;
  readonly outcomeScore: number | null;
}): OutcomeRecord | undefined {
  try {
    const outcome = outcomes.find((each) => each === row.outcome);
    return {
      decisionId: row.decisionId,
      atMs: row.atMs,
      decision: DecisionPart.parse(JSON.parse(row.decision)),
      signals: Signals.parse(JSON.parse(row.signals)),
      ...(outcome === undefined ? {} : { outcome }),
      ...(row.outcomeScore === null ? {} : { outcomeScore: row.outcomeScore }),
    };
  } catch {
    return undefined;
  }
}
