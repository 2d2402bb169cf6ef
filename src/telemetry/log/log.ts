import { type LogLevel, logLevels } from "#config/settings.ts";
import { formatUsd } from "#domain/money/money.ts";
import type { RequestRecord } from "#records/record.ts";
import { bufferedOutput } from "./buffered-output.ts";
import { jsonLine, prettyLine } from "./lines.ts";

/**
 * The log: known events with flat fields, and no field that could hold text of a request. A field is a number, a
 * boolean, a word of a closed union, an id reduced to harmless characters (`logId`), text of the operator's own
 * (`operatorText`), or an upstream's redacted reason.
 */
declare const logged: unique symbol;

/** An identifier, reduced to characters of identifiers and to 128 of them. */
export type LogId = string & { readonly [logged]: "id" };
/** Text from the operator's files or of our own making: problems of a file, reasons of a state change. Never a caller's. */
export type OperatorText = string & { readonly [logged]: "operator" };
/** Why the upstream did not answer, in its own words: redacted, and at most 300 characters. */
export type UpstreamText = string & { readonly [logged]: "upstream" };

const harmless = /^[\w.:@/+=-]*$/;

export function logId(value: string): LogId {
  // Nearly all are harmless as they are.
  if (value.length <= 128 && harmless.test(value)) return value as LogId;
  return value.replace(/[^\w.:@/+=-]/g, "_").slice(0, 128) as LogId; // reduced just now
}

export function operatorText(text: string): OperatorText {
  return text.slice(0, 8_192) as OperatorText; // the caller vouches for where it comes from
}

/** Every event there is, with its fields; `logEvents` says what each means. */
export interface LogEvents {
  gateway_started: {
    url: OperatorText;
    mode: "demo" | "aggregator";
    version: OperatorText;
    node_id: LogId;
    startup_ms: number;
    /** A request to paste into a shell, where the log is all that is printed. */
    try?: OperatorText;
  };
  start_failed: { detail: OperatorText };
  gateway_draining: { signal: LogId; in_flight: number };
  gateway_waiting: { in_flight: number; streams: number; left_ms: number };
  gateway_stopped: { uptime_s: number };
  settings_warning: { detail: OperatorText };
  config_reloaded: { changes: number; changed: OperatorText; hash: LogId };
  config_refused: { problems: number; detail: OperatorText };
  privacy_rule_disabled: { rule: LogId };
  /** `restart_in_ms` is absent where the gateway gives up. */
  worker_exited: {
    worker: number;
    pid: number;
    code: number;
    signal?: LogId;
    started: boolean;
    lived_ms: number;
    restart_in_ms?: number;
  };
  worker_unresponsive: { worker: number; pid: number };
  request_finished: ReturnType<typeof requestFields>;
  /** Refused before there was a request to decide about: 401, 404, 405, 413, 400, 422. */
  request_rejected: { request_id: LogId; status: number; method: LogId; route: LogId } & {
    code: LogId | undefined;
    /** The field or header at fault, what stood in `model` (if it is plain and no credential), and the label of the key. */
    field: LogId | undefined;
    model: LogId | undefined;
    key: OperatorText | undefined;
  };
  /** A defect: the answer was 500. The message is left out, because parsers quote what they could not read. */
  request_crashed: { request_id: LogId } & LoggedError;
  upstream_failed: ReturnType<typeof failureFields>;
  other_model_answered: { decision_id: LogId; model: LogId; answered: LogId; cost_stated: boolean };
  health_changed: { model: LogId; from: LogId; to: LogId; reason: OperatorText; retry_in_ms?: number };
  health_aggregator_changed: { open: boolean; reason: OperatorText; retry_in_ms?: number };
  health_store_changed: { unavailable: boolean; detail: OperatorText };
  records_store_changed: { unavailable: boolean; detail: OperatorText };
  ledger_overrun: { reservation: LogId; model: LogId; hold_nano_usd: number; actual_nano_usd: number };
  price_drift: { model: LogId; reason: PriceDrift; detail: OperatorText };
  upstream_cost_distrusted: { decision_id: LogId; model: LogId; hold_nano_usd: number; stated_nano_usd: number };
  price_book_read: { listed: number; models: number; price_version: LogId };
  price_book_unavailable: { detail: OperatorText };
  ledger_reconciled: ReconciledFields;
  ledger_differs: ReconciledFields;
  key_usage_unavailable: { detail: OperatorText };
  ledger_conflict: { reservation: LogId; detail: OperatorText };
  ledger_awaited: { detail: OperatorText; within_ms: number };
  ledger_unavailable: { detail: OperatorText };
  ledger_available: { away_ms: number };
  ledger_failed_over: Record<string, never>;
  ledger_commits_lost: { batches: number; restored: number; silent: OperatorText };
  ledger_standby_asynchronous: { standbys: number };
  ledger_failed: { remedy: "restart_needed" | "store_lost"; detail: OperatorText };
  ledger_created: Record<string, never>;
  ledger_missing: Record<string, never>;
  ledger_day_ahead: { day: LogId; today: LogId };
  ledger_taken_over: { nodes: OperatorText; unresolved: number; unresolved_nano_usd: number };
  telemetry_export_failed: { detail: OperatorText };
  records_pruned: { deleted: number };
  task_failed: { task: LogId } & LoggedError;
}
export type PriceDrift =
  | "constraint_filtered"
  | "list_changed"
  | "list_differs"
  | "not_listed"
  | "expires"
  | "repointed";
export type LogEvent = keyof LogEvents;

type ReconciledFields = { day: LogId } & {
  [N in "ledger" | "unproven" | "held" | "aggregator" | "difference" as `${N}_nano_usd`]: number;
};

/** What can be said about an error without repeating what it was about. */
export type LoggedError = { readonly error: LogId; readonly code?: LogId; readonly at: OperatorText };

/** What each event means to operators, by its level; `docs/reference/log.md` is generated from this. */
const meanings = {
  debug: {
    records_pruned: "Closed reservations older than the retention were deleted.",
  },
  info: {
    gateway_started: "The gateway listens at `url`, in demo mode or with an aggregator.",
    gateway_draining: "A signal to stop has come: new requests are refused soon, `in_flight` requests go on.",
    gateway_waiting: "The gateway waits for `in_flight` requests, at most `left_ms` more. Twice a minute.",
    gateway_stopped: "The ledger is written, and the process ends.",
    config_reloaded: "A changed policy or registry is in force; `changed` names the keys.",
    request_finished: "A chat request has ended: its decision, cost and timings. `model` is the one that answered.",
    request_rejected: "A request was refused before a decision: see `status`, `code`, and the `field` that is wrong.",
    price_book_read: "The aggregator's list was read: `listed` of the registry's `models` are in it.",
    ledger_reconciled: "Shortly before the UTC day ends: what the ledger and the aggregator have counted.",
    ledger_failed_over: "Another database server has taken over, and nothing that this gateway knows of is missing.",
    ledger_created: "The gateway begins with an empty ledger.",
  },
  warn: {
    settings_warning: "A setting has an effect that may not be wanted.",
    privacy_rule_disabled: "The policy switches off a rule of the privacy gate (`privacy.disabled_rules`).",
    upstream_failed: "A call has failed: its kind (`error_class`), and the `reason` that the upstream gave.",
    other_model_answered: "The upstream states that another model answered than the one that was asked.",
    health_changed: "A model's health has another state: see [model health](../health.md).",
    health_aggregator_changed: "The aggregator's breaker has opened or closed: while it is open nothing is sent.",
    health_store_changed: "`unavailable`: health is not stored, and operators' overrides are not read.",
    records_store_changed: "`unavailable`: decision records wait, and are dropped when too many wait.",
    price_book_unavailable: "The list, or its stored copy, could not be read or written; the last known prices hold.",
    ledger_differs: "The two counts of the day differ: see [reconciliation](../operating.md#reconciliation).",
    key_usage_unavailable: "The aggregator's count of the day could not be read or stored.",
    ledger_awaited: "The database cannot be reached at the start; it is waited for, at most a minute.",
    ledger_available: "The database answers again.",
    ledger_day_ahead: "The newest day in the ledger is ahead of the clock; spending counts to it until it is reached.",
    ledger_standby_asynchronous: "A fail-over can lose commits. See [clusters](../operating.md#clusters).",
    ledger_taken_over: "Holds of gateways that have died stay held until their calls' costs are known.",
    telemetry_export_failed: "The collector of `OTEL_…` did not take traces or metrics; they are dropped.",
  },
  error: {
    config_refused: "Changed files are not valid; the last valid ones hold. `smart-gateway policy check` says why.",
    worker_exited: "A worker process has ended; it starts again in `restart_in_ms`, or never where that is absent.",
    worker_unresponsive: "A worker has not answered the supervisor for 20 s, and is killed.",
    request_crashed: "A defect: the answer was 500. Report it with the event.",
    ledger_overrun: "A call cost more than was held for it, and is charged whole. Compare prices: `models sync`.",
    price_drift: "Registry and aggregator differ: see [prices](../operating.md#prices-and-models).",
    upstream_cost_distrusted: "The stated cost is above all that the model can have written; that much was charged.",
    ledger_conflict: "A repeated operation had other numbers than the first, and was ignored.",
    ledger_commits_lost:
      "A database server has taken over that lacked `batches` which this gateway was told are durable; `restored` entries were written again. What the `silent` gateways wrote last is not known.",
    ledger_unavailable: "The database does not answer or refuses writes: requests get 503 until it does.",
    ledger_missing: "The ledger is empty and should not be: what was spent is not counted. Restore the backup.",
    task_failed: "A defect in background work, which goes on. Report it with the event.",
  },
  fatal: {
    start_failed: "The gateway could not start (with `LOG_FORMAT=json`; else a text says so).",
    ledger_failed: "Nothing is admitted any more: `restart_needed` after a failed sync, `store_lost` with the store.",
  },
} as const;

/** Fails to compile when an event has no meaning. */
const eventMeanings: { readonly [E in LogEvent]: string } = {
  ...meanings.debug,
  ...meanings.info,
  ...meanings.warn,
  ...meanings.error,
  ...meanings.fatal,
};

/** Every event with its level and what it means. */
export const logEvents = Object.entries(eventMeanings).map(([event, meaning]) => {
  const level = (Object.keys(meanings) as (keyof typeof meanings)[]).find((key) => event in meanings[key]) ?? "info";
  return { event, level, meaning };
});
const levels = new Map(logEvents.map(({ event, level }) => [event, level]));

/** `atMs` (milliseconds since the epoch) is for what is logged later than it happened. */
export type Log = <E extends LogEvent>(event: E, fields: LogEvents[E], atMs?: number) => void;

/** `flush` writes out what is buffered. */
export type ClosableLog = Log & { flush(): void };

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: "pretty" | "json";
  /** Where lines go; standard output when absent. */
  readonly destination?: { write(line: string): unknown };
  /** Whether other processes write to the same standard output: then less is written at once, and lines stay whole. */
  readonly sharedOutput?: boolean;
  /** On every line, to tell nodes that share a log apart. */
  readonly nodeId?: string;
}

/** Logs nothing; for tests and for commands that print what they have to say. */
export const silentLog: Log = () => undefined;

export function createLog(options: LogOptions): ClosableLog {
  const { format, level: lowest, nodeId, destination } = options;
  const { write, flush } = output(options);
  const written = new Set<LogLevel>(logLevels.slice(logLevels.indexOf(lowest)));
  const node = nodeId === undefined ? "" : `"node":${JSON.stringify(logId(nodeId))},`;
  const color = destination === undefined && !process.env["NO_COLOR"];
  const log: Log = (event, fields, atMs = Date.now()) => {
    const level = levels.get(event) ?? "info";
    if (!written.has(level)) return;
    write(
      format === "pretty"
        ? prettyLine({ time: new Date(atMs), level, event, fields: Object.entries(fields), color })
        : jsonLine(level, node, event, fields, atMs),
    );
  };
  return Object.assign(log, { flush });
}

/** The log fields of an error: its name, code and where in our code it arose; never its message. */
export function loggedError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { error: logId(typeof error), at: operatorText("") };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const shortened = frames.slice(0, 6).map((line) => line.trim().slice(0, 200));
  const at = operatorText(shortened.join(" | "));
  // Errors that a PostgreSQL server reports all have one `code`; what they mean is in `errno`, the SQLSTATE.
  const { code: own, errno } = error as NodeJS.ErrnoException & { errno?: unknown };
  const code = typeof errno === "string" && /^[0-9A-Z]{5}$/.test(errno) ? errno : own;
  return { error: logId(error.name), ...(code === undefined ? {} : { code: logId(String(code)) }), at };
}

/** The fields of a finished request, from its record: its decision, cost and timings, without a word of its text. */
export function requestFields(record: RequestRecord) {
  let [redactions, inputTokens, outputTokens] = [0, 0, 0];
  for (const { count } of record.redactions) redactions += count;
  for (const { usage } of record.attempts) {
    inputTokens += usage?.input ?? 0;
    outputTokens += usage?.output ?? 0;
  }
  const { decision, timings } = record;
  return {
    request_id: logId(record.requestId),
    decision_id: logId(record.decisionId),
    alias: record.alias,
    stream: record.stream,
    status: record.status,
    outcome: record.outcome,
    action: decision.action,
    cause: decision.cause,
    score: rounded(decision.score),
    model: record.answeredBy === null ? null : logId(record.answeredBy),
    attempts: record.attempts.length,
    redactions,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    /** Fields that the policy lets through although they may change model, terms or price. */
    forwarded_fields: record.forwardedFields && operatorText(record.forwardedFields.join(" ")),
    cost_usd: operatorText(formatUsd(record.costNanoUsd)),
    /** The prices in force when it was received. */
    price_version: record.priceVersion === undefined ? undefined : logId(record.priceVersion),
    decision_ms: rounded(timings.decisionMs),
    first_token_ms: timings.firstTokenMs === undefined ? undefined : rounded(timings.firstTokenMs),
    total_ms: rounded(timings.totalMs),
  };
}

/** The fields of a call that has failed. Its reason is redacted already. */
export function failureFields(
  { decisionId, label, routed }: RequestRecord,
  { model, outcome, upstreamStatus, reason = "" }: RequestRecord["attempts"][number],
) {
  return {
    decision_id: logId(decisionId),
    model: logId(model),
    error_class: logId(outcome),
    upstream_status: upstreamStatus,
    reason: reason.slice(0, 300) as UpstreamText,
    key: label === undefined ? undefined : logId(label),
    goal: logId(routed?.task.goal_id ?? "adhoc"),
  };
}

/** Three places are plenty, and keep the line short. */
function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function output({ destination, format, sharedOutput }: LogOptions): { write(line: string): void; flush(): void } {
  if (destination !== undefined) return { write: (line) => void destination.write(line), flush: () => undefined };
  if (format === "pretty") {
    // A terminal shows each line at once. A reader that has closed the pipe must not take the gateway down.
    process.stdout.on("error", () => undefined);
    return { write: (line) => void process.stdout.write(line), flush: () => undefined };
  }
  const dropped = (lines: number) =>
    `{"level":"warn","event":"log_lines_dropped","time":"${new Date().toISOString()}","lines":${lines}}\n`;
  const buffered = bufferedOutput(1, sharedOutput ? { dropped, batchSize: 4_096, pieceBytes: 4_096 } : { dropped });
  process.on("exit", buffered.flush);
  return buffered;
}
