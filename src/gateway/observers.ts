import type { ModelKey } from "#domain/model.ts";
import type { HealthChange } from "#health/operated-registry.ts";
import type { GoalId, Ledger } from "#ledger/ledger.ts";
import type { LedgerEvent } from "#ledger/open-ledger.ts";
import type { KeyUsageEvent } from "#ledger/reconcile/key-usage-watch.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/reconciliation.ts";
import type { PriceBookEvent } from "#models/price-book/price-book-reader.ts";
import type { AttemptRecord, RequestRecord } from "#records/record.ts";
import { type Log, loggedError, logId, operatorText } from "#telemetry/log/log.ts";
import type { Metrics } from "#telemetry/metrics/metrics.ts";

/** Reports events of the gateway's parts to the log and the metrics. */

export function reportLedgerEvent(event: LedgerEvent, log: Log, metrics: Metrics): void {
  switch (event.kind) {
    case "resolved":
      // The metrics of finished requests contain the cost; only charges without a known cost and their corrections are counted
      // here.
      if (event.state === "EXPIRED_CHARGED") metrics.chargedWithoutProof(event.hold);
      else if (event.state === "CORRECTED") metrics.chargeCorrected(event.hold - event.charged);
      return;
    case "taken_over":
      log("ledger_taken_over", {
        nodes: operatorText(event.nodes.join(", ")),
        unresolved: event.unresolved,
        unresolved_nano_usd: event.unresolvedNanoUsd,
        released: event.released,
      });
      return;
    case "overrun":
      metrics.overrun(event.model, event.actual - event.hold);
      log("ledger_overrun", {
        reservation: logId(event.id),
        model: logId(event.model),
        hold_nano_usd: event.hold,
        actual_nano_usd: event.actual,
      });
      return;
    case "cost_distrusted":
      metrics.costDistrusted(event.model);
      log("upstream_cost_distrusted", {
        decision_id: logId(event.requestId),
        model: logId(event.model),
        hold_nano_usd: event.hold,
        stated_nano_usd: event.stated,
      });
      return;
    case "ignored":
      log("ledger_conflict", {
        reservation: logId(event.id),
        detail: operatorText(`${event.why}, in state ${event.state}`),
      });
      return;
    case "store_awaited":
      log("ledger_awaited", { detail: operatorText(event.message), within_ms: event.withinMs });
      return;
    case "store_failed":
      log("ledger_failed", { remedy: event.failed, detail: operatorText(event.message) });
      return;
    case "store_empty":
      if (event.expected) log("ledger_missing", {});
      else log("ledger_created", {});
      return;
    case "day_ahead":
      log("ledger_day_ahead", { day: logId(event.day), today: logId(event.today) });
      return;
    case "store_unavailable":
      log("ledger_unavailable", { detail: operatorText(event.message) });
      return;
    case "store_available":
      log("ledger_available", { away_ms: event.unavailableMs });
      return;
    case "resolutions_dropped":
      log("ledger_unavailable", { detail: operatorText(`${event.count} resolutions dropped: ${event.message}`) });
      return;
    case "pruned":
      log("records_pruned", { deleted: event.reservations });
      return;
  }
}

const priceUnits = "(USD per million tokens, or per request)";

export function reportPriceBookEvent(event: PriceBookEvent, priceVersion: string, log: Log, metrics: Metrics): void {
  switch (event.kind) {
    case "read":
      log("price_book_read", { listed: event.listed, models: event.models, price_version: logId(priceVersion) });
      return;
    case "unavailable":
      log("price_book_unavailable", { detail: operatorText(`the list of models: ${event.detail}`) });
      return;
    case "store_failed": {
      const { error, code } = loggedError(event.error);
      log("price_book_unavailable", { detail: operatorText(`the store: ${code ?? error}`) });
      return;
    }
    case "drift":
      metrics.priceDrifted(event.model, event.reason);
      log("price_drift", {
        model: logId(event.model),
        reason: event.reason,
        detail: operatorText(event.reason.startsWith("list_") ? `${event.detail} ${priceUnits}` : event.detail),
      });
      return;
  }
}

export function reportKeyUsageEvent(event: KeyUsageEvent, log: Log): void {
  switch (event.kind) {
    case "unavailable":
      log("key_usage_unavailable", { detail: operatorText(event.detail) });
      return;
    case "store_failed": {
      const { error, code } = loggedError(event.error);
      log("key_usage_unavailable", { detail: operatorText(`the store: ${code ?? error}`) });
      return;
    }
    case "read": {
      if (!event.lastOfDay) return;
      const { reconciliation } = event;
      log(isNotable(reconciliation) ? "ledger_differs" : "ledger_reconciled", {
        day: logId(reconciliation.day),
        ledger_nano_usd: reconciliation.ledgerSpent,
        held_nano_usd: reconciliation.ledgerHeld,
        aggregator_nano_usd: reconciliation.aggregatorSpent,
        difference_nano_usd: differenceOf(reconciliation),
      });
      return;
    }
  }
}

/** Reports each call that was refused while our prices were its limit; returns whether there was one. */
export function reportFilteredCalls(record: RequestRecord, log: Log, metrics: Metrics): boolean {
  let any = false;
  for (const { model, outcome, priceLimited } of record.attempts) {
    if (outcome !== "constraint_filtered" || priceLimited !== true) continue;
    any = true;
    metrics.priceDrifted(model, "constraint_filtered");
    log("price_drift", {
      model: logId(model),
      reason: "constraint_filtered",
      detail: operatorText("the aggregator has no host for the model within the price limit that was sent"),
    });
  }
  return any;
}

export function reportHealthChange(change: HealthChange, log: Log, metrics: Metrics): void {
  if (change.kind === "aggregator") {
    log("health_aggregator_changed", { open: change.to !== "closed", reason: operatorText(change.reason) });
    return;
  }
  metrics.healthChanged(change.model, change.to);
  log("health_changed", {
    model: logId(change.model),
    from: logId(change.from),
    to: logId(change.to),
    reason: operatorText(change.reason),
  });
}

export function reportOtherModel({ decisionId }: RequestRecord, attempt: AttemptRecord, log: Log): void {
  if (attempt.otherModel === undefined) return;
  log("other_model_answered", {
    decision_id: logId(decisionId),
    model: logId(attempt.model),
    answered: logId(attempt.otherModel),
    cost_stated: attempt.costStated === true,
  });
}

/** The ledger, counting every answer to a reservation. `onHeld`: money is held for a call of this goal to a model. */
export function countedLedger(
  ledger: Ledger,
  metrics: Metrics,
  onHeld: (goal: GoalId, model: ModelKey) => void,
): Ledger {
  return {
    reserve(reservation, closing) {
      return ledger.reserve(reservation, closing).then((reply) => {
        if (reply.kind === "held") {
          metrics.reservationAnswered("held", reservation.amount);
          onHeld(reservation.goal, reservation.modelKey);
        } else if (reply.kind === "refused") metrics.reservationAnswered(`refused_${reply.binding}`);
        else metrics.reservationAnswered("unavailable");
        return reply;
      });
    },
    resolve: (resolutions) => ledger.resolve(resolutions),
    resolveInBackground: (resolutions) => ledger.resolveInBackground(resolutions),
    peek: (goal) => ledger.peek(goal),
    read: (goal) => ledger.read(goal),
    peekDay: () => ledger.peekDay(),
    heldMoney: (goal) => ledger.heldMoney(goal),
    status: () => ledger.status(),
    oldestMs: () => ledger.oldestMs(),
    close: (withinMs) => ledger.close(withinMs),
  };
}
