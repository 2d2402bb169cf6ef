import type { Verdict } from "#health/health.ts";
import type { FailureKind, UpstreamFailure } from "#upstream/upstream.ts";

/** What follows from each kind of failure: for the request, for the model's health, for the money. Read it aloud. */
export interface Consequence {
  /** `retry`: the same model may be asked again; `fail_over`: the next model; `give_up`: nobody would answer differently. */
  readonly next: "retry" | "fail_over" | "give_up";
  readonly health: Verdict["kind"];
  /** `unknown`: it may have been billed, so the hold stays until it is known or its deadline charges it. */
  readonly charge: "nothing" | "unknown";
}

export const consequences = {
  unreachable: { next: "retry", health: "aggregator_failure", charge: "nothing" },
  cut_off: { next: "retry", health: "failure", charge: "unknown" },
  timed_out: { next: "fail_over", health: "failure", charge: "unknown" },
  upstream_error: { next: "retry", health: "failure", charge: "unknown" },
  rate_limited: { next: "retry", health: "limited", charge: "nothing" },
  rejected: { next: "give_up", health: "refused", charge: "nothing" },
  // The model is well, and so is its aggregator: our prices or the caller's wishes leave no host.
  constraint_filtered: { next: "fail_over", health: "refused", charge: "nothing" },
  // Hosts count tokens differently, and less than they list: a model whose context is as large may take it.
  context_length_exceeded: { next: "fail_over", health: "refused", charge: "nothing" },
  content_filtered: { next: "give_up", health: "refused", charge: "nothing" },
  unauthorized: { next: "give_up", health: "refused", charge: "nothing" },
  garbage: { next: "retry", health: "garbage", charge: "unknown" },
  redirected: { next: "give_up", health: "refused", charge: "nothing" },
  aborted: { next: "give_up", health: "ignored", charge: "unknown" },
} as const satisfies Record<FailureKind, Consequence>;

/** Statuses with which an upstream says that it did no work: these, and no others, are never billed. */
const unbilledStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 413, 422, 429]);

/** What a failure means for the money. `errorsFree`: the aggregator does not bill what it answers with an error of its own. */
export function chargeOf(failure: UpstreamFailure, errorsFree = false): Consequence["charge"] {
  if (!failure.dispatched) return "nothing";
  if (failure.begun === true) return "unknown";
  if (errorsFree && failure.hasErrorBody === true) return "nothing";
  const { kind, status = 0 } = failure;
  const isOtherRefusal = status >= 400 && status < 500 && !unbilledStatuses.has(status);
  return isOtherRefusal ? "unknown" : consequences[kind].charge;
}

/** What a failure says about the model, or about the aggregator in front of it. `upstreamId` is the model's that was asked. */
export function verdictOf(failure: UpstreamFailure, upstreamId: string): Verdict {
  if (failure.staleSocket === true) return { kind: "ignored" };
  if (failure.kind === "rejected" && namesUnknownModel(failure, upstreamId)) return { kind: "delisted" };
  // A firewall or a proxy has answered, mostly to what the request says.
  if (failure.isPage === true && failure.kind === "garbage") return { kind: "refused" };
  // Nothing was sent, so no model has had a chance to answer: this is about the way to the aggregator.
  if (failure.kind === "timed_out" && !failure.dispatched) return { kind: "aggregator_failure", reason: failure.kind };
  const reason = failure.status === undefined ? failure.kind : `${failure.kind} ${failure.status}`;
  const kind = consequences[failure.kind].health;
  switch (kind) {
    case "limited":
      return failure.retryAfterMs === undefined ? { kind } : { kind, retryAfterMs: failure.retryAfterMs };
    case "refused":
    case "ignored":
      return { kind };
    case "failure":
      return { kind, reason, ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }) };
    default:
      return { kind, reason };
  }
}

/** Whether a 4xx says that the model itself is unknown: only then the model is missing, and it is not the request's fault. */
function namesUnknownModel({ status, message }: UpstreamFailure, upstreamId: string): boolean {
  if (status !== 404 && status !== 400) return false;
  const id = upstreamId.toLowerCase().replace(/[^\w-]/g, "\\$&");
  // Anchored at both sides of the id: aggregators also answer 404 when no host of a known model fits the request ("No
  // endpoints found that support tool use"), and an error may quote what the caller wrote.
  const unknown = new RegExp(
    `^(no endpoints found for ${id}\\.?$|${id} is not a valid model|model ${id} not found|model not found: ${id}|` +
      `unknown model: ${id}|(the |error: )?model:? ${id} (does not exist|is not found|was not found))`,
  );
  return unknown.test(message.toLowerCase().replace(/["'`‘’“”]/g, ""));
}
