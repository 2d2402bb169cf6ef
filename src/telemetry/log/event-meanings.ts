import type { LogEvent } from "./log.ts";

/** What each event means, for operators; `docs/reference/log.md` is generated from this. */
export const eventMeanings: { readonly [E in LogEvent]: string } = {
  gateway_started: "The gateway listens at `url`, in demo mode or with an aggregator.",
  gateway_draining: "A signal to stop has come: new requests are refused soon, `in_flight` requests go on.",
  gateway_stopped: "The ledger is written, and the process ends.",
  settings_warning: "A setting has an effect that may not be wanted.",
  config_reloaded: "Changed policy, registry or learned weights are in force; `changed` names the keys.",
  config_refused:
    "Changed files are not valid; the last valid ones stay in force. `smart-gateway policy check` says why.",
  config_reload_failed:
    "Changed files could not be checked; the last valid ones stay, and they are read again. `lowered` names caps that are in force all the same.",
  privacy_rule_disabled: "The policy switches off a rule of the privacy gate (`privacy.disabled_rules`).",
  worker_exited:
    "A worker process has ended. It is restarted in `restart_in_ms`; without that field the gateway gives up.",
  worker_unresponsive: "A worker has not answered the supervisor for 20 s, and is killed.",
  request_finished: "A chat request has ended: its decision, cost and timings. `model` is the one that answered.",
  request_rejected: "A request was refused before a decision: see `status`.",
  request_crashed: "A defect: the answer was 500. Report it with the event.",
  other_model_answered: "The upstream states that another model answered than the one that was asked.",
  health_changed: "A model's health has another state: see [model health](../health.md).",
  health_aggregator_changed: "The aggregator's breaker has opened or closed: while it is open nothing is sent.",
  health_store_changed: "`away`: health is not shared; each node goes on from the last state that it read.",
  records_store_changed: "`away`: decision records wait, and are dropped when too many wait.",
  ledger_overrun:
    "A call cost more than was held for it; the whole cost is charged. Compare the prices: `models sync`.",
  price_drift:
    "The registry and the aggregator differ: see [prices and models](../operating.md#prices-and-models) for each `reason`.",
  upstream_cost_distrusted:
    "The upstream stated a cost far above the hold (`budget.absurd_cost_factor`); the hold was charged.",
  price_book_read: "The aggregator's list was read: `listed` of the registry's `models` are in it.",
  price_book_unavailable: "The list, or its stored copy, could not be read or written; the last known prices hold.",
  ledger_reconciled: "Shortly before the UTC day ends: what the ledger and the aggregator have counted.",
  ledger_differs:
    "The two counts differ by more than running calls explain: see [reconciliation](../operating.md#reconciliation).",
  key_usage_unavailable: "The aggregator's count of the day could not be read or stored.",
  ledger_conflict: "A repeated operation had other numbers than the first, and was ignored.",
  ledger_awaited: "The database cannot be reached at the start; it is waited for (`DATABASE_WAIT_MS`).",
  ledger_unavailable: "The database does not answer or refuses writes: requests get 503 until it does.",
  ledger_available: "The database answers again.",
  ledger_failed:
    "This process admits nothing any more: `restart_needed` after a failed sync, `store_lost` where the store was deleted or replaced.",
  ledger_created: "The gateway begins with an empty ledger.",
  ledger_missing:
    "The same where there should have been one: what was spent so far is not counted. Restore the backup.",
  ledger_day_ahead: "The newest day in the ledger is ahead of the clock; spending counts to it until it is reached.",
  ledger_taken_over:
    "Holds of gateways that have died were taken over: `unresolved` stay held, `released` were given back.",
  telemetry_export_failed: "The collector of `OTEL_…` did not take traces or metrics; they are dropped.",
  records_pruned: "Closed reservations older than the retention were deleted.",
  task_failed: "A defect in background work, which goes on. Report it with the event.",
};
