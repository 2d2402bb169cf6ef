import { type LogLevel, logLevels } from "#config/settings.ts";
import { formatUsd } from "#domain/money/money.ts";
import type { Alias, RoutingDecision } from "#domain/routing.ts";
import type { RequestOutcome, RequestRecord } from "#records/record.ts";
import { bufferedOutput } from "./buffered-output.ts";
import { prettyLine } from "./pretty-line.ts";

/**
 * The log: known events with flat fields, and no field that could hold text of a request. A field is a number, a boolean, a
 * word of a closed union, an id reduced to harmless characters (`logId`), or text of the operator's own (`operatorText`).
 */
declare const logged: unique symbol;

/** An identifier, reduced to characters of identifiers and to 128 of them. */
export type LogId = string & { readonly [logged]: "id" };
/** Text from the operator's files or of our own making: problems of a file, reasons of a state change. Never a caller's. */
export type OperatorText = string & { readonly [logged]: "operator" };

const harmless = /^[\w.:@/+=-]*$/;

export function logId(value: string): LogId {
  // Nearly all are harmless as they are.
  if (value.length <= 128 && harmless.test(value)) return value as LogId;
  return value.replace(/[^\w.:@/+=-]/g, "_").slice(0, 128) as LogId; // reduced just now
}

export function operatorText(text: string): OperatorText {
  return text.slice(0, 8_192) as OperatorText; // the caller vouches for where it comes from
}

/** Every event there is, with its fields. */
export interface LogEvents {
  gateway_started: {
    url: OperatorText;
    mode: "demo" | "aggregator";
    version: OperatorText;
    node_id: LogId;
    startup_ms: number;
  };
  gateway_draining: { signal: LogId; in_flight: number };
  gateway_stopped: { uptime_s: number };
  settings_warning: { detail: OperatorText };
  config_reloaded: { changes: number; changed: OperatorText; hash: LogId };
  config_refused: { problems: number; detail: OperatorText };
  /**
   * The files could not be checked: the last good configuration stays, and they are read again after a pause. `lowered`: the
   * caps that came into force all the same.
   */
  config_reload_failed: { problems: number; detail: OperatorText; retry_in_ms: number; lowered?: OperatorText };
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
  /** It has answered none of the supervisor's questions for 20 s, and is killed. */
  worker_unresponsive: { worker: number; pid: number };
  request_finished: RequestFields;
  /** Refused before there was a request to decide about: 401, 404, 405, 413, 400, 422. */
  request_rejected: { request_id: LogId; status: number; method: LogId; route: LogId };
  /** A defect: the answer was 500. The message is left out, because parsers quote what they could not read. */
  request_crashed: { request_id: LogId } & LoggedError;
  /** The upstream says that another model has answered than the one asked. */
  other_model_answered: { decision_id: LogId; model: LogId; answered: LogId; cost_stated: boolean };
  health_changed: { model: LogId; from: LogId; to: LogId; reason: OperatorText; retry_in_ms?: number };
  health_aggregator_changed: { open: boolean; reason: OperatorText; retry_in_ms?: number };
  /** `away`: the store of health is unavailable; each node goes on from the last state it read. */
  health_store_changed: { away: boolean; detail: OperatorText };
  /** `away`: the store of decision records is unavailable; records wait, and are dropped when too many wait. */
  records_store_changed: { away: boolean; detail: OperatorText };
  ledger_overrun: { reservation: LogId; model: LogId; hold_nano_usd: number; actual_nano_usd: number };
  /**
   * Our registry and the aggregator have drifted apart: it found no host within the limit we sent, its list changed by more
   * than half, it says something else than the operator's file, or an id is gone, will be, or stands for another model.
   */
  price_drift: { model: LogId; reason: PriceDrift; detail: OperatorText };
  /** The upstream said a cost too far above the hold to be one; the hold was charged. */
  upstream_cost_distrusted: { decision_id: LogId; model: LogId; hold_nano_usd: number; stated_nano_usd: number };
  /** The aggregator's list was read: of so many models it names so many at a price. */
  price_book_read: { listed: number; models: number; price_version: LogId };
  /** The list, or what is kept of it, could not be read or written: the last known prices hold. */
  price_book_unavailable: { detail: OperatorText };
  /** Shortly before the UTC day ends: what the ledger and the aggregator have counted. */
  ledger_reconciled: ReconciledFields;
  /** The same where the two differ by more than calls under way explain. */
  ledger_differs: ReconciledFields;
  /** The aggregator's count of the day could not be read or kept. */
  key_usage_unavailable: { detail: OperatorText };
  ledger_conflict: { reservation: LogId; detail: OperatorText };
  /** The database cannot be reached at the start and is waited for. */
  ledger_awaited: { detail: OperatorText; within_ms: number };
  ledger_unavailable: { detail: OperatorText };
  ledger_available: { away_ms: number };
  /** Nothing is admitted any more by this process: after a failed sync to disk, in a damaged file, or because the store was deleted or replaced. */
  ledger_failed: { remedy: "restart_needed" | "store_lost"; detail: OperatorText };
  /** The gateway begins with an empty ledger. */
  ledger_created: Record<string, never>;
  /** The same where there should have been one: everything spent so far is forgotten. */
  ledger_missing: Record<string, never>;
  /** The newest day in the ledger is ahead of the clock: spending counts to it until it is reached. */
  ledger_day_ahead: { day: LogId; today: LogId };
  /** Holds of gateways that have died: what may have been billed stays held until its deadline, the rest is given back. */
  ledger_taken_over: { nodes: OperatorText; unresolved: number; unresolved_nano_usd: number; released: number };
  /** The collector of OTEL_* did not take traces or metrics; they are dropped. */
  telemetry_export_failed: { detail: OperatorText };
  records_pruned: { deleted: number };
  task_failed: { task: LogId } & LoggedError;
}
export const priceDrifts = [
  "constraint_filtered",
  "list_changed",
  "list_differs",
  "not_listed",
  "expires",
  "repointed",
] as const;
export type PriceDrift = (typeof priceDrifts)[number];
export type LogEvent = keyof LogEvents;

interface ReconciledFields {
  day: LogId;
  ledger_nano_usd: number;
  held_nano_usd: number;
  aggregator_nano_usd: number;
  difference_nano_usd: number;
}

/** What can be said about an error without repeating what it was about. */
export interface LoggedError {
  readonly error: LogId;
  readonly code?: LogId;
  readonly at: OperatorText;
}

/** The line of a request: its decision, cost and timings, without a word of its text. */
export interface RequestFields {
  request_id: LogId;
  decision_id: LogId;
  alias: Alias;
  stream: boolean;
  status: number;
  outcome: RequestOutcome;
  action: RoutingDecision["action"];
  cause: RoutingDecision["cause"];
  score: number;
  model: LogId | null;
  attempts: number;
  redactions: number;
  input_tokens: number;
  output_tokens: number;
  /** Fields that the policy lets through although they may change model, terms or price. */
  forwarded_fields?: OperatorText | undefined;
  cost_usd: OperatorText;
  /** The prices in force when it was received. */
  price_version?: LogId | undefined;
  decision_ms: number;
  first_token_ms?: number | undefined;
  total_ms: number;
}

export const levels: { readonly [E in LogEvent]: Exclude<LogLevel, "silent"> } = {
  gateway_started: "info",
  gateway_draining: "info",
  gateway_stopped: "info",
  settings_warning: "warn",
  config_reloaded: "info",
  config_refused: "error",
  config_reload_failed: "error",
  privacy_rule_disabled: "warn",
  worker_exited: "error",
  worker_unresponsive: "error",
  request_finished: "info",
  request_rejected: "info",
  request_crashed: "error",
  other_model_answered: "warn",
  health_changed: "warn",
  health_aggregator_changed: "warn",
  health_store_changed: "warn",
  records_store_changed: "warn",
  ledger_overrun: "error",
  price_drift: "error",
  upstream_cost_distrusted: "error",
  price_book_read: "info",
  price_book_unavailable: "warn",
  ledger_reconciled: "info",
  ledger_differs: "warn",
  key_usage_unavailable: "warn",
  ledger_conflict: "error",
  ledger_awaited: "warn",
  ledger_unavailable: "error",
  ledger_available: "warn",
  ledger_failed: "fatal",
  ledger_created: "info",
  ledger_missing: "error",
  ledger_day_ahead: "warn",
  ledger_taken_over: "warn",
  telemetry_export_failed: "warn",
  records_pruned: "debug",
  task_failed: "error",
};

/** `atMs` (milliseconds since the epoch) is for what is logged later than it happened. */
export type Log = <E extends LogEvent>(event: E, fields: LogEvents[E], atMs?: number) => void;

export interface ClosableLog extends Log {
  /** Writes out what is buffered. */
  flush(): void;
}

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
  const { write, flush } = output(options);
  const threshold = logLevels.indexOf(options.level);
  const line = options.format === "pretty" ? prettyLines(options) : jsonLines(options);
  const log: Log = (event, fields, atMs = Date.now()) => {
    if (logLevels.indexOf(levels[event]) >= threshold) write(line(event, fields, atMs));
  };
  return Object.assign(log, { flush });
}

type Line = (event: LogEvent, fields: object, atMs: number) => string;

/** What precedes the time is the same on every line of an event; `fields` are flat, so one `stringify` makes the rest. */
function jsonLines({ nodeId }: LogOptions): Line {
  const node = nodeId === undefined ? "" : `"node":${JSON.stringify(logId(nodeId))},`;
  return (event, fields, atMs) => {
    const head = `{"level":"${levels[event]}",${node}"event":"${event}","time":"${isoTime(atMs)}"`;
    const rest = JSON.stringify(fields);
    return rest === "{}" ? `${head}}\n` : `${head},${rest.slice(1)}\n`;
  };
}

let lastSecond = Number.NaN;
let textOfLastSecond = "";

/** As `toISOString` has it; the text of a second is made once, not for each of its lines. */
function isoTime(atMs: number): string {
  const second = Math.floor(atMs / 1_000);
  if (second !== lastSecond) {
    lastSecond = second;
    textOfLastSecond = new Date(second * 1_000).toISOString().slice(0, -4);
  }
  return `${textOfLastSecond}${String(Math.floor(atMs - second * 1_000)).padStart(3, "0")}Z`;
}

function prettyLines({ destination }: LogOptions): Line {
  const color = destination === undefined && !process.env["NO_COLOR"];
  return (event, fields, atMs) =>
    prettyLine({ time: new Date(atMs), level: levels[event], event, fields: Object.entries(fields), color });
}

/** The log fields of an error: its name, code and where in our code it arose; never its message. */
export function loggedError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { error: logId(typeof error), at: operatorText("") };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const at = operatorText(
    frames
      .slice(0, 6)
      .map((line) => line.trim().slice(0, 200))
      .join(" | "),
  );
  const code = codeOf(error);
  return { error: logId(error.name), ...(code === undefined ? {} : { code: logId(code) }), at };
}

/** Errors that a PostgreSQL server reports all have one `code`; what they mean is in `errno`, the SQLSTATE. */
function codeOf(error: Error): string | undefined {
  if ("errno" in error && typeof error.errno === "string" && /^[0-9A-Z]{5}$/.test(error.errno)) return error.errno;
  return "code" in error ? String(error.code) : undefined;
}

/** The line of a finished request, from its record. */
export function requestFields(record: RequestRecord): RequestFields {
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
    forwarded_fields: record.forwardedFields && operatorText(record.forwardedFields.join(" ")),
    cost_usd: operatorText(formatUsd(record.costNanoUsd)),
    price_version: record.priceVersion === undefined ? undefined : logId(record.priceVersion),
    decision_ms: rounded(timings.decisionMs),
    first_token_ms: timings.firstTokenMs === undefined ? undefined : rounded(timings.firstTokenMs),
    total_ms: rounded(timings.totalMs),
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
