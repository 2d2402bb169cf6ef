import type { HealthChange } from "#health/health.ts";
import type { RejectedRequest } from "#http/server-options.ts";
import type { Reservation, ReserveReply } from "#ledger/ledger.ts";
import type { LedgerEvent } from "#ledger/open-ledger.ts";
import { differenceOf, isNotable, type ReconciliationEvent } from "#ledger/reconcile/reconciliation-job.ts";
import { StoreFailure } from "#ledger/store.ts";
import type { PriceBookEvent, PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { createBatcher } from "#platform/batcher.ts";
import type { RequestRecord } from "#records/record.ts";
import type { Rejection } from "#records/rejections.ts";
import { failureFields, loggedError, logId, operatorText, requestFields } from "#telemetry/log/log.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** What the events of the gateway's parts mean for the log, the metrics and the dashboard. */

type Event = { readonly kind: string };
type Reports<E extends Event> = {
  readonly [K in E["kind"]]: (event: Extract<E, { kind: K }>, to: GatewayContext) => void;
};

/** Reports an event as the table of its kind says. */
export function report<E extends Event>(reports: Reports<E>, event: E, to: GatewayContext): void {
  (reports[event.kind as E["kind"]] as (event: E, to: GatewayContext) => void)(event, to); // of this event's kind
}

export const ledgerReports: Reports<LedgerEvent> = {
  // The metrics of finished requests have the cost; here count only charges without a known cost and their corrections.
  resolved({ state, hold, charged }, { metrics }) {
    if (state === "EXPIRED_CHARGED") metrics.count("smart_gateway_charged_without_proof_usd_total", hold);
    if (state === "CORRECTED") metrics.count("smart_gateway_charges_corrected_usd_total", hold - charged);
  },
  taken_over: ({ nodes, unresolved, unresolvedNanoUsd }, { log }) =>
    log("ledger_taken_over", {
      nodes: operatorText(nodes.join(", ")),
      unresolved,
      unresolved_nano_usd: unresolvedNanoUsd,
    }),
  overrun({ id, model, hold, actual }, { log, metrics }) {
    metrics.count("smart_gateway_overrun_usd_total", actual - hold, model);
    const amounts = { hold_nano_usd: hold, actual_nano_usd: actual };
    log("ledger_overrun", { reservation: logId(id), model: logId(model), ...amounts });
  },
  cost_distrusted({ requestId, model, hold, stated }, { log, metrics }) {
    metrics.count("smart_gateway_distrusted_costs_total", 1, model);
    const amounts = { hold_nano_usd: hold, stated_nano_usd: stated };
    log("upstream_cost_distrusted", { decision_id: logId(requestId), model: logId(model), ...amounts });
  },
  ignored: ({ id, why, state }, { log }) =>
    log("ledger_conflict", { reservation: logId(id), detail: operatorText(`${why}, in state ${state}`) }),
  store_awaited: ({ message, withinMs }, { log }) =>
    log("ledger_awaited", { detail: operatorText(message), within_ms: withinMs }),
  store_failed: ({ failed, message }, { log }) =>
    log("ledger_failed", { remedy: failed, detail: operatorText(message) }),
  failed_over({ batches, restored, silent }, { log, metrics }) {
    if (batches + restored + silent.length === 0) return log("ledger_failed_over", {});
    metrics.count("smart_gateway_ledger_lost_batches_total", batches);
    metrics.count("smart_gateway_ledger_restored_entries_total", restored);
    return log("ledger_commits_lost", { batches, restored, silent: operatorText(silent.join(", ")) });
  },
  standby_asynchronous: ({ standbys }, { log }) => log("ledger_standby_asynchronous", { standbys }),
  store_empty: ({ expected }, { log }) => log(expected ? "ledger_missing" : "ledger_created", {}),
  day_ahead: ({ day, today }, { log }) => log("ledger_day_ahead", { day: logId(day), today: logId(today) }),
  store_unavailable: ({ message }, { log }) => log("ledger_unavailable", { detail: operatorText(message) }),
  store_available: ({ unavailableMs }, { log }) => log("ledger_available", { away_ms: unavailableMs }),
  resolutions_dropped: ({ count, message }, { log }) =>
    log("ledger_unavailable", { detail: operatorText(`${count} resolutions dropped: ${message}`) }),
  pruned: ({ reservations }, { log }) => log("records_pruned", { deleted: reservations }),
};

export const priceReports: Reports<PriceBookEvent> = {
  read({ listed, models }, { log, configuration }) {
    const { priceVersion = "" } = configuration.current().registry;
    log("price_book_read", { listed, models, price_version: logId(priceVersion) });
  },
  unavailable: ({ detail }, { log }) =>
    log("price_book_unavailable", { detail: operatorText(`the list of models: ${detail}`) }),
  store_failed: ({ error }, { log }) =>
    log("price_book_unavailable", { detail: operatorText(`the store: ${storeProblem(error)}`) }),
  drift({ model, reason, detail }, { log, metrics }) {
    metrics.count("smart_gateway_price_drift_total", 1, model, reason);
    const unit = reason.startsWith("list_") ? " (USD per million tokens, or per request)" : "";
    log("price_drift", { model: logId(model), reason, detail: operatorText(detail + unit) });
  },
};

export const keyUsageReports: Reports<ReconciliationEvent> = {
  unavailable: ({ detail }, { log }) => log("key_usage_unavailable", { detail: operatorText(detail) }),
  store_failed: ({ error }, { log }) =>
    log("key_usage_unavailable", { detail: operatorText(`the store: ${storeProblem(error)}`) }),
  read({ lastOfDay, reconciliation }, { log }) {
    if (!lastOfDay) return;
    log(isNotable(reconciliation) ? "ledger_differs" : "ledger_reconciled", {
      day: logId(reconciliation.day),
      ledger_nano_usd: reconciliation.ledgerSpent,
      unproven_nano_usd: reconciliation.ledgerUnproven,
      held_nano_usd: reconciliation.ledgerHeld,
      aggregator_nano_usd: reconciliation.aggregatorSpent,
      difference_nano_usd: differenceOf(reconciliation),
    });
  },
};

/** SQLSTATE of PostgreSQL: connection, read-only, out of resources, locks, ended by an operator, system error. */
const isOfServer = /^(?:08|25|53|55|57|58)[0-9A-Z]{3}$/;

/** Why a database has not answered. Other messages of PostgreSQL could repeat values of a row. */
export function storeProblem(problem: unknown): string {
  if (problem instanceof StoreFailure) return problem.message;
  const { code, error } = loggedError(problem);
  if (problem instanceof Error && isOfServer.test(code ?? "")) return `${code}: ${problem.message}`;
  return code ?? error;
}

export const healthReports: Reports<HealthChange> = {
  aggregator: ({ to, reason }, { log }) =>
    log("health_aggregator_changed", { open: to !== "closed", reason: operatorText(reason) }),
  model({ model, from, to, reason, atMs }, { log, metrics, notices }) {
    metrics.count("smart_gateway_model_health_changes_total", 1, model, to);
    notices.healthChanged({ model, to, reason, atMs });
    log("health_changed", { model: logId(model), from: logId(from), to: logId(to), reason: operatorText(reason) });
  },
};

/** Reports calls that failed, and other models that answered; whether one was refused at our prices as its limit. */
function reportAttempts(record: RequestRecord, { log, metrics, notices }: GatewayContext): boolean {
  const { decisionId, attempts, atMs } = record;
  let filtered = false;
  for (const attempt of attempts) {
    const { model, outcome, priceLimited, otherModel, costStated } = attempt;
    if (outcome !== "answered" && outcome !== "aborted") log("upstream_failed", failureFields(record, attempt));
    if (outcome === "constraint_filtered" && priceLimited === true) {
      filtered = true;
      metrics.count("smart_gateway_price_drift_total", 1, model, "constraint_filtered");
      const detail = "the aggregator has no host for the model within the price limit that was sent";
      log("price_drift", { model: logId(model), reason: "constraint_filtered", detail: operatorText(detail) });
      notices.filteredNow({ model, reason: "constraint_filtered", detail, atMs });
    }
    if (otherModel === undefined) continue;
    log("other_model_answered", {
      decision_id: logId(decisionId),
      model: logId(model),
      answered: logId(otherModel),
      cost_stated: costStated === true,
    });
  }
  return filtered;
}

/** Counts the answer to a reservation. */
export function countReservation({ amount }: Reservation, reply: ReserveReply, { metrics }: GatewayContext): void {
  const answer = reply.kind === "refused" ? `refused_${reply.binding}` : reply.kind;
  metrics.count("smart_gateway_reservations_total", 1, answer);
  if (reply.kind === "held") metrics.count("smart_gateway_held_usd_total", amount);
}

function idOf(value: string | undefined) {
  return value === undefined ? undefined : logId(value);
}

/** A request was answered with an error, and has no record of its own. */
export function reportRejection(
  rejected: RejectedRequest,
  kept: { requestRejected(rejection: Rejection): void },
  { log, metrics }: GatewayContext,
): void {
  const { requestId, route, method, status, code, param, model, label } = rejected;
  // A path that is no route says nothing about the gateway's own work: browsers and scanners ask for many.
  if (code !== "not_found" && code !== "method_not_allowed") kept.requestRejected(rejected);
  metrics.count("smart_gateway_rejections_total", 1, route, String(status));
  log("request_rejected", {
    ...{ request_id: logId(requestId), status, method: logId(method), route: logId(route) },
    ...{ code: idOf(code), field: idOf(param), model: idOf(model) },
    key: label === undefined ? undefined : operatorText(label),
  });
}

/** Finished requests are recorded so many at a time, or so many milliseconds after the first of them. */
const recordedTogether = 128;
const recordedWithinMs = 50;

/** Passes the records of finished requests on to the metrics and the log, in batches. */
export function finishedRequests(
  prices: PriceBookReader,
  kept: { requestFinished(record: RequestRecord): void },
  context: GatewayContext,
) {
  const { log, metrics, closing } = context;
  const finished = createBatcher<RequestRecord>(recordedTogether, recordedWithinMs, (records) => {
    for (const record of records) metrics.requestFinished(record);
    for (const record of records) kept.requestFinished(record);
    for (const record of records) {
      log("request_finished", requestFields(record), record.atMs + record.timings.totalMs);
      if (reportAttempts(record, context)) prices.suspect();
    }
  });
  closing.add(() => finished.flush());
  return finished;
}
