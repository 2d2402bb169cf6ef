/** Every metric, declared once: its name with its labels, and its help text. */

/** Counters that events add to. */
const counters = {
  "smart_gateway_billing_lookups_total{answer}":
    "Queries to the aggregator for the billed cost of a call of unknown outcome, by answer (not_found: not yet known).",
  smart_gateway_charged_without_proof_usd_total:
    "Holds charged in full because the cost of the call stayed unknown (deadline passed, caller left), in US dollars.",
  smart_gateway_charges_corrected_usd_total:
    "Money given back because a call's cost became known after its hold was charged, in US dollars.",
  "smart_gateway_config_reloads_total{result}": "Reloads of policy and registry, by result.",
  "smart_gateway_cost_usd_total{model}":
    "Known cost of upstream calls in US dollars, by model. Caps are enforced by the ledger, not by this metric.",
  "smart_gateway_distrusted_costs_total{model}":
    "Costs stated by the upstream that are above all that the model can have written, by model.",
  "smart_gateway_dry_runs_total{cause}": "Dry runs of the decision, by cause.",
  "smart_gateway_forwarded_fields_total{field}":
    "Request fields forwarded although they may change model, terms or price (policy upstream.fields), by field.",
  smart_gateway_held_usd_total: "Money that was held before calls, in US dollars: the sum of all holds.",
  "smart_gateway_model_health_changes_total{model,to}": "Changes of a model's health, by the state entered.",
  "smart_gateway_other_model_answers_total{model}":
    "Answers that, according to the upstream, another model wrote, by the model that was asked.",
  "smart_gateway_overrun_usd_total{model}":
    "Upstream cost above the hold, in US dollars. Anything but 0 means that a price in the registry is wrong.",
  "smart_gateway_price_drift_total{model,reason}":
    "Differences between the registry and the aggregator, counted when they appear, by model and reason (docs/operating.md).",
  smart_gateway_records_dropped_total:
    "Decision records that were lost because too many waited for the store. Ledger operations are never dropped.",
  "smart_gateway_redactions_total{rule}":
    "Values that the privacy gate has found, by rule. They are replaced, except in tool definitions and response formats.",
  "smart_gateway_rejections_total{route,status}":
    "Requests refused before there was a decision (400, 401, 404, 405, 413, 422 …).",
  "smart_gateway_request_outcomes_total{outcome,stream}": "Chat requests, by how they ended and whether they streamed.",
  "smart_gateway_requests_total{alias,tier,cause,status}":
    "Chat requests, by alias, tier of the model that answered (or was chosen), cause of the decision, and status.",
  smart_gateway_ledger_lost_batches_total:
    "Acknowledged batches of this gateway that a database server lacked which had taken over.",
  smart_gateway_ledger_restored_entries_total: "Ledger entries that were written again after such a fail-over.",
  "smart_gateway_reservations_total{answer}": "Requests for a reservation, by the ledger's answer.",
  "smart_gateway_retries_total{kind}":
    "Calls beyond a request's first: retries on the same model, and fail-overs to the next.",
  smart_gateway_sensitive_blocks_total: "Decisions in which the privacy gate forced a downgrade or denial.",
  "smart_gateway_token_cost_usd_total{label}":
    "Known cost of requests in US dollars, by the label of the caller's token (AUTH_KEYS_FILE).",
  "smart_gateway_token_requests_total{label}": "Chat requests, by the label of the caller's token (AUTH_KEYS_FILE).",
  "smart_gateway_tokens_total{model,kind}":
    "Tokens as the upstream counts them. Input includes cached_input and cache_write, output includes reasoning.",
  "smart_gateway_upstream_attempts_total{model,purpose,outcome}":
    "Calls to the upstream, by model, purpose and outcome (answered, or the kind of failure).",
  "smart_gateway_worker_exits_total{started}":
    "Worker processes that exited without a signal to stop, by whether they had started to serve (WORKERS above 1).",
} as const;

/** Histograms, each with one label. */
const histograms = {
  "smart_gateway_decision_duration_seconds{endpoint}":
    "From the last byte of the request to the decision: parsing, redaction, assessment, policy.",
  "smart_gateway_request_duration_seconds{stream}":
    "Duration of chat requests, from the last byte of the request to the last byte of the answer.",
  "smart_gateway_time_to_first_token_seconds{model}":
    "From dispatch to the first byte or event of the answer, by the model that answered.",
  "smart_gateway_upstream_duration_seconds{model}": "Duration of single calls to the upstream, by model.",
} as const;

/** Counters whose value is read at each scrape. */
const readCounters = {
  process_cpu_seconds_total: "Processor time, user and system, in seconds.",
  smart_gateway_scan_memory_hits_total:
    "Messages and tool lists that were neither parsed nor scanned for credentials again, because an earlier request had them.",
  smart_gateway_scan_memory_misses_total:
    "Messages and tool lists that were scanned for credentials and whose result was stored; short ones are not counted.",
} as const;

/**
 * Gauges, by how those of several workers become one. Amounts that each worker has for itself are summed. Of gauges that are 1 while
 * something works the smallest counts. Of all others the largest counts: it is the same in all workers, or the one that matters.
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
    smart_gateway_config_last_reload_successful:
      "1 while the contents of the configuration files are in force, 0 while they are refused or not checked yet.",
    smart_gateway_config_last_reload_timestamp_seconds:
      "When the configuration in force was last found to equal the files, in seconds since the Unix epoch.",
    smart_gateway_ledger_up: "1 while the ledger's database answers, else 0.",
    "smart_gateway_model_routable{model}": "1 while a model may be sent traffic, else 0.",
  },
  max: {
    "smart_gateway_budget_cap_usd{scope,level}": "The policy's caps, in US dollars.",
    "smart_gateway_budget_day_usd{part}":
      "Today's account (UTC) as this node last read it, and its hard cap, in US dollars; an operator's own cap takes precedence.",
    "smart_gateway_build_info{version,policy_version}": "Always 1; its labels name the version that runs.",
    smart_gateway_charged_without_proof_day_usd:
      "Part of today's spending (UTC, whole store) whose cost is unknown: holds charged in full, less corrections, in US dollars.",
    "smart_gateway_config_info{hash}":
      "Always 1; its label is the configuration hash, which names the policy and models of the files.",
    smart_gateway_event_loop_delay_seconds: "How late the event loop runs its timers, in seconds.",
    "smart_gateway_held_usd{state}":
      "Money held now in the whole store, in US dollars: by running calls, and by calls whose outcome is unknown.",
    "smart_gateway_holds{state}": "Holds now in the whole store, running and unresolved.",
    smart_gateway_key_limit_remaining_usd:
      "US dollars that may still be spent with the upstream key, if the aggregator limits it.",
    smart_gateway_ledger_queue_oldest_seconds: "Age of the oldest waiting ledger operation, in seconds.",
    "smart_gateway_model_health{model,state}": "1 for the state a model is in, 0 for the others.",
    smart_gateway_price_book_read_seconds:
      "When the aggregator's prices were last read, in seconds since the Unix epoch.",
    "smart_gateway_price_drifted{model,reason}":
      "1 for each model and reason for which the last price list differed from the registry.",
    smart_gateway_reconcile_read_seconds:
      "When the ledger and the aggregator's count were last compared, in seconds since the Unix epoch.",
    "smart_gateway_reconcile_usd{side}":
      "US dollars spent on the current UTC day, as the ledger and as the aggregator counted them when they were last compared; `unproven` is the part of the ledger's that nobody knows.",
    smart_gateway_records_queue_length: "Decision records that wait to be written.",
    smart_gateway_records_stored: "Stored decision records of all nodes.",
    smart_gateway_records_stored_bytes:
      "Approximate size of the decision records in the database, in bytes; at most `records.max_bytes`.",
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
