import type { DecisionRecord } from "./decision-record.ts";

/**
 * The port of the decision records. Appending never waits and never fails; reading rejects when the store cannot be reached.
 */
export interface DecisionRecords {
  /**
   * Queues a record to be written; the name of its conversation is made then. The queue is bounded; what does not fit is dropped and
   * counted. Never throws, never waits.
   */
  append(record: DecisionRecord, conversationKey?: string): void;
  /** One page, the newest first; with `after`, the oldest of those after it first. */
  query(filter: RecordFilter, page: PageRequest): Promise<RecordPage>;
  /** By decision id, else the newest with that request id. */
  get(id: string): Promise<DecisionRecord | undefined>;
  /** Sums of a range, from the hourly roll-ups; whole hours, but for records of the first and last one. */
  summary(range: TimeRange, filter?: RollupFilter): Promise<RecordSummary>;
  /** One number over time, from the roll-ups. */
  series(request: SeriesRequest): Promise<RecordSeries>;
  /** Goals or sessions of a range, highest cost first. */
  groups(by: "goal" | "session", range: TimeRange, limit: number): Promise<readonly RecordGroup[]>;
  /**
   * Calls back with each new record that passes the filter, within a second; also with those of other processes with the same store. Returns a function that ends the subscription.
   */
  subscribe(filter: RecordFilter, onRecords: (records: readonly DecisionRecord[]) => void): () => void;
  /** All records that pass the filter, the oldest first, in batches; reads on as it is consumed. */
  export(filter: RecordFilter): AsyncIterable<readonly DecisionRecord[]>;
  /** The policy and the models that a record's `policy_hash` names, as JSON; undefined when they are not kept any more. */
  configuration(hash: string): Promise<string | undefined>;
  status(): RecordsStatus;
}

/** Times are `recorded_ms`: from inclusive, to exclusive. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A record passes if every field matches. Several values of a field are alternatives; "" matches a record without a value. */
export interface RecordFilter {
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly session?: string;
  readonly goal?: string;
  readonly task?: string;
  readonly requestId?: string;
  readonly cause?: readonly string[];
  /** One of the hard rules that fired. */
  readonly rule?: string;
  readonly alias?: readonly string[];
  /** Key of the model that answered, else of the chosen one. */
  readonly model?: readonly string[];
  readonly tier?: readonly string[];
  readonly kind?: readonly string[];
  readonly action?: readonly string[];
  readonly outcome?: readonly string[];
  /** `2xx`, `403` … */
  readonly status?: readonly string[];
  readonly refusedBy?: readonly string[];
  readonly errorClass?: readonly string[];
  readonly costState?: readonly string[];
}

/** The fields of a filter that roll-ups have too. */
export type RollupFilter = Pick<RecordFilter, "cause" | "model" | "tier" | "status" | "outcome" | "refusedBy">;

export interface PageRequest {
  /** `seq` of the last record seen: the page goes on with older ones. */
  readonly before?: number;
  /** `seq` of the newest record seen: the page has newer ones. */
  readonly after?: number;
  /** 1 to 1000. A page has more where several processes gave records the number of its last one. */
  readonly limit: number;
}

export interface RecordPage {
  readonly records: readonly DecisionRecord[];
  /** Whether there are more in the page's direction. */
  readonly more: boolean;
}

/** What is summed; requests count a flood's repeated refusals. */
export interface RecordSums {
  readonly requests: number;
  readonly cost_nano_usd: number;
  /** What the same tokens would have cost on the senior model; only of requests where that is known. */
  readonly baseline_nano_usd: number;
  /** The cost of the requests whose baseline is known. */
  readonly baseline_cost_nano_usd: number;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
}

export interface RecordGroup extends RecordSums {
  readonly key: string;
  readonly refused: number;
  readonly last_ms: number;
}

export interface RecordSummary extends RecordSums {
  readonly from_ms: number;
  readonly to_ms: number;
  /** By outcome: answered, refused, failed, broken_stream, caller_gone. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly refused_by_gateway: number;
  readonly refused_by_upstream: number;
  /** Requests whose cost is not known yet. */
  readonly cost_unknown: number;
  /** Milliseconds, from a histogram, so with an error of up to a quarter; null without answers. */
  readonly first_token_p50_ms: number | null;
  readonly first_token_p95_ms: number | null;
  readonly by: { readonly [K in SeriesKey]: readonly SummaryShare[] };
  /** The oldest record that is kept; sums from before it cannot be opened to their records any more. */
  readonly oldest_record_ms: number | null;
}

/** `key` is "" where the field is null. */
export interface SummaryShare extends RecordSums {
  readonly key: string;
}

export const seriesMetrics = [
  "requests",
  "refusals",
  "errors",
  "cost_nano_usd",
  "baseline_nano_usd",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
  "first_token_p50_ms",
  "first_token_p95_ms",
] as const;
export type SeriesMetric = (typeof seriesMetrics)[number];

export const seriesKeys = ["tier", "cause", "model", "status", "outcome", "refused_by"] as const;
export type SeriesKey = (typeof seriesKeys)[number];

export interface SeriesRequest {
  readonly metric: SeriesMetric;
  /** One line per value of it; absent: one line, with the key "". */
  readonly by?: SeriesKey;
  readonly range: TimeRange;
  readonly filter?: RollupFilter;
  /** At most; 400 when absent. Buckets are whole hours, or minutes for ranges of a few hours. */
  readonly maxPoints?: number;
}

export interface RecordSeries {
  readonly bucket_ms: number;
  /** Starts of the buckets, rising, without gaps. */
  readonly at_ms: readonly number[];
  readonly lines: readonly {
    readonly key: string;
    /** null: nothing was recorded in the bucket. */
    readonly values: readonly (number | null)[];
  }[];
}

export interface RecordsStatus {
  /** `off`: the policy keeps none; those from before can be read. */
  readonly kind: "sqlite" | "postgres" | "off";
  /** The last write or read succeeded. */
  readonly ok: boolean;
  readonly queued: number;
  /** Since the start of the process. */
  readonly written: number;
  readonly dropped: number;
  /** When one was last dropped, milliseconds since the epoch. */
  readonly droppedAtMs?: number;
  /** Rows kept and their size in bytes, as last read; absent before the first reading. */
  readonly rows?: number;
  readonly bytes?: number;
}
