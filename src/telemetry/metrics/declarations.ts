/** Every metric, declared once: its name with its labels, and its help text. */

/** Counters that events add to. */
const counters = {
  "smart_gateway_billing_lookups_total{answer}": "Queries for the billed cost of a call, by answer.",
  smart_gateway_charged_without_proof_usd_total: "US dollars of holds charged in full at unknown cost.",
  smart_gateway_charges_corrected_usd_total: "US dollars given back once a cost was known.",
  "smart_gateway_config_reloads_total{result}": "Reloads of policy and registry, by result.",
  "smart_gateway_cost_usd_total{model}": "Known cost of upstream calls in US dollars, by model.",
  "smart_gateway_distrusted_costs_total{model}": "Stated costs above all the model can have written.",
  "smart_gateway_dry_runs_total{cause}": "Dry runs of the decision, by cause.",
  "smart_gateway_forwarded_fields_total{field}": "Request fields that the policy forwards, by field.",
  smart_gateway_held_usd_total: "Money that was held before calls, in US dollars: the sum of all holds.",
  "smart_gateway_model_health_changes_total{model,to}": "Changes of a model's health, by the state entered.",
  "smart_gateway_other_model_answers_total{model}": "Answers that another model wrote, by the asked one.",
  "smart_gateway_overrun_usd_total{model}": "US dollars above the hold: not 0 if a price is wrong.",
  "smart_gateway_price_drift_total{model,reason}": "Differences from the price list that appeared.",
  smart_gateway_records_dropped_total: "Decision records lost because too many waited for the store.",
  "smart_gateway_redactions_total{rule}": "Values that the privacy gate has found, by rule.",
  "smart_gateway_rejections_total{route,status}": "Requests refused before a decision.",
  "smart_gateway_request_outcomes_total{outcome,stream}": "Chat requests, by how they ended and whether they streamed.",
  "smart_gateway_requests_total{alias,tier,cause,status}": "Chat requests.",
  smart_gateway_ledger_lost_batches_total: "Acknowledged batches that a fail-over has lost.",
  smart_gateway_ledger_restored_entries_total: "Ledger entries written again after a fail-over.",
  "smart_gateway_reservations_total{answer}": "Requests for a reservation, by the ledger's answer.",
  "smart_gateway_retries_total{kind}": "Calls beyond a request's first: repeats and fail-overs.",
  smart_gateway_sensitive_blocks_total: "Decisions in which the privacy gate forced a downgrade or denial.",
  "smart_gateway_token_cost_usd_total{label}": "Known cost in US dollars, by the label of the token.",
  "smart_gateway_token_requests_total{label}": "Chat requests, by the label of the caller's token (AUTH_KEYS_FILE).",
  "smart_gateway_tokens_total{model,kind}": "Tokens; input includes cached ones, output reasoning.",
  "smart_gateway_upstream_attempts_total{model,purpose,outcome}": "Calls to the upstream.",
  "smart_gateway_worker_exits_total{started}": "Workers that exited unasked, by whether they had served.",
} as const;

/** Histograms, each with one label. */
const histograms = {
  "smart_gateway_decision_duration_seconds{endpoint}": "From the request's last byte to the decision.",
  "smart_gateway_request_duration_seconds{stream}": "From the request's last byte to the answer's.",
  "smart_gateway_time_to_first_token_seconds{model}": "From dispatch to the answer's first byte.",
  "smart_gateway_upstream_duration_seconds{model}": "Duration of single calls to the upstream, by model.",
} as const;

/** Counters whose value is read at each scrape. */
const readCounters = {
  process_cpu_seconds_total: "Processor time, user and system, in seconds.",
  smart_gateway_scan_memory_hits_total: "Messages and tool lists not scanned again.",
  smart_gateway_scan_memory_misses_total: "Messages and tool lists scanned and remembered.",
} as const;

/**
 * Gauges, by how those of several workers become one. Amounts that each worker has for itself are summed. Of gauges
 * that are 1 while something works the smallest counts. Of all others the largest counts: it is the same in all
 * workers, or the one that matters.
 */
const gauges = {
  sum: {
    process_max_fds: "Most file descriptors the process may open (Linux).",
    process_open_fds: "Open file descriptors (Linux).",
    process_resident_memory_bytes: "Resident memory, in bytes.",
    smart_gateway_active_streams: "Streams being sent to callers now.",
    "smart_gateway_calls_in_flight{model}": "Calls now to a model with `max_in_flight`.",
    "smart_gateway_calls_waiting{model}": "Requests that wait now for a call to a model with `max_in_flight`.",
    smart_gateway_ledger_queue_length: "Ledger operations that wait for the database.",
    smart_gateway_requests_in_flight: "Chat requests being served now.",
    smart_gateway_scan_memory_bytes: "Estimated memory that the results of earlier scans take, in bytes.",
  },
  min: {
    process_start_time_seconds: "Start of the process, in seconds since the Unix epoch.",
    smart_gateway_config_last_reload_successful: "1 while the files' contents are in force, else 0.",
    smart_gateway_config_last_reload_timestamp_seconds: "When that was last checked, in Unix seconds.",
    smart_gateway_ledger_up: "1 while the ledger's database answers, else 0.",
    "smart_gateway_model_routable{model}": "1 while a model may be sent traffic, else 0.",
  },
  max: {
    "smart_gateway_budget_cap_usd{scope,level}": "The policy's caps, in US dollars.",
    "smart_gateway_budget_day_usd{part}": "Today's account (UTC) and its cap, in US dollars.",
    "smart_gateway_build_info{version,policy_version}": "Always 1; its labels name the version that runs.",
    smart_gateway_charged_without_proof_day_usd: "Today's spending (UTC) of unknown cost, in US dollars.",
    "smart_gateway_config_info{hash}": "Always 1; its label names policy and models in force.",
    smart_gateway_event_loop_delay_seconds: "How late the event loop runs its timers, in seconds.",
    "smart_gateway_held_usd{state}": "US dollars held in the whole store.",
    "smart_gateway_holds{state}": "Holds now in the whole store, running and unresolved.",
    smart_gateway_key_limit_remaining_usd: "US dollars that the aggregator's limit of the key leaves.",
    smart_gateway_ledger_queue_oldest_seconds: "Age of the oldest waiting ledger operation, in seconds.",
    "smart_gateway_model_health{model,state}": "1 for the state a model is in, 0 for the others.",
    smart_gateway_price_book_read_seconds: "When prices were last read, in Unix seconds.",
    "smart_gateway_price_drifted{model,reason}": "1 for each difference from the last price list.",
    smart_gateway_reconcile_read_seconds: "When the day's counts were last compared, in Unix seconds.",
    "smart_gateway_reconcile_usd{side}": "The day in US dollars, as each side counts it; `unproven` nobody knows.",
    smart_gateway_records_queue_length: "Decision records that wait to be written.",
    smart_gateway_records_stored: "Stored decision records of all nodes.",
    smart_gateway_records_stored_bytes: "Bytes of decision records in the database.",
    smart_gateway_records_up: "1 while the store of decision records answers, else 0.",
    "smart_gateway_workers{state}": "Worker processes, wanted and serving (WORKERS above 1).",
  },
} as const;

type NameIn<K> = K extends `${infer Name}{${string}` ? Name : K;

export interface Declaration<Name = string> {
  readonly name: Name;
  readonly type: "counter" | "gauge" | "histogram";
  /** How the samples of several workers become the gateway's. */
  readonly aggregator: "sum" | "max" | "min";
  readonly labelNames: readonly string[];
  readonly help: string;
}

/** One metric with its samples, as it is printed and as it travels between processes. */
export interface MetricSnapshot extends Declaration {
  readonly values: readonly SampleSnapshot[];
}

/** One line of the exposition. */
export interface SampleSnapshot {
  /** Present on the lines of a histogram. */
  readonly metricName?: string;
  readonly labels: { readonly [name: string]: string | number };
  readonly value: number;
}

function list<T>(table: T & object, type: Declaration["type"], aggregator: Declaration["aggregator"]) {
  return Object.entries(table).map(([key, help]) => {
    const [name, labels] = key.split(/[{}]/);
    const declaration = { name, type, aggregator, labelNames: labels?.split(",") ?? [], help };
    return declaration as unknown as Declaration<NameIn<keyof T>>; // split as the type says
  });
}

export const counterDeclarations = list(counters, "counter", "sum");
export type CounterMetric = (typeof counterDeclarations)[number]["name"];
export const histogramDeclarations = list(histograms, "histogram", "sum");
/** Metrics whose value is read at each scrape. */
export const readDeclarations = [
  ...list(readCounters, "counter", "sum"),
  ...list(gauges.sum, "gauge", "sum"),
  ...list(gauges.min, "gauge", "min"),
  ...list(gauges.max, "gauge", "max"),
];
export type ReadMetric = (typeof readDeclarations)[number]["name"];
