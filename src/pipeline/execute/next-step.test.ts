import { describe, expect, test } from "bun:test";
import type { FailureKind, UpstreamFailure } from "#upstream/upstream.ts";
import { type FailureState, type NextStep, nextStep } from "./next-step.ts";

const failure = (kind: FailureKind, more: Partial<UpstreamFailure> = {}): UpstreamFailure => ({
  kind,
  message: "",
  dispatched: true,
  ...more,
});

const firstFailure: FailureState = {
  sent: 1,
  maxAttempts: 3,
  sentToModel: 1,
  staleRepeated: false,
  remainingMs: 60_000,
  jitter: 0.5,
  backoffBaseMs: 100,
};

const giveUp: NextStep = { kind: "give_up" };
const failOver: NextStep = { kind: "fail_over", budgeted: true };
const retryAfter = (waitMs: number): NextStep => ({ kind: "retry", waitMs, budgeted: true });

describe("the step after the first failure of a request", () => {
  const rows: [kind: FailureKind, step: NextStep][] = [
    ["unreachable", retryAfter(50)],
    ["cut_off", retryAfter(50)],
    ["timed_out", failOver],
    ["upstream_error", retryAfter(50)],
    ["rate_limited", failOver],
    ["rejected", giveUp],
    ["constraint_filtered", { kind: "fail_over", budgeted: false }],
    ["context_length_exceeded", { kind: "fail_over", budgeted: false }],
    ["content_filtered", giveUp],
    ["unauthorized", giveUp],
    ["garbage", retryAfter(50)],
    ["redirected", giveUp],
    ["aborted", giveUp],
  ];
  test.each(rows)("%s: %j", (kind, step) => {
    expect(nextStep(failure(kind), firstFailure)).toEqual(step);
  });
});

describe("the step after a failure that may be retried", () => {
  const rows: [when: string, more: Partial<UpstreamFailure>, state: Partial<FailureState>, step: NextStep][] = [
    ["the attempts of the request are used up", {}, { sent: 3 }, giveUp],
    ["the attempts of the model are used up", {}, { sent: 2, sentToModel: 2 }, failOver],
    ["the backoff doubles with each call", {}, { sent: 2 }, retryAfter(100)],
    ["the backoff has a maximum", {}, { sent: 12, maxAttempts: 20 }, retryAfter(1_000)],
    ["the policy's backoff is longer than that", {}, { backoffBaseMs: 6_000 }, retryAfter(3_000)],
    ["the backoff would pass the deadline", {}, { remainingMs: 50 }, failOver],
    ["the upstream asks for a short pause", { retryAfterMs: 5_000 }, {}, retryAfter(5_000)],
    ["the upstream asks for a longer pause than a caller should wait", { retryAfterMs: 5_001 }, {}, failOver],
    ["the pause would pass the deadline", { retryAfterMs: 1_000 }, { remainingMs: 1_000 }, failOver],
    ["the connection was stale", { staleSocket: true }, {}, { kind: "repeat_fresh" }],
    ["a second connection was stale", { staleSocket: true }, { sent: 2, staleRepeated: true }, retryAfter(100)],
    ["the connection of the last attempt was stale", { staleSocket: true }, { sent: 3 }, giveUp],
  ];
  test.each(rows)("when %s", (_, more, state, step) => {
    expect(nextStep(failure("cut_off", more), { ...firstFailure, ...state })).toEqual(step);
  });

  test("a call filtered by constraints does not use the retry budget, also if it asks for a pause", () => {
    const step = nextStep(failure("constraint_filtered", { retryAfterMs: 1 }), firstFailure);
    expect(step).toEqual({ kind: "fail_over", budgeted: false });
  });
});
