import { type ApiHandler, type ApiHandlers, ApiProblem } from "#dashboard/api/endpoint.ts";
import type { EndpointSources } from "#dashboard/api/endpoint-sources.ts";
import { namedRange, recordFilter, rollupFilter, timeRange } from "#dashboard/api/query.ts";
import { DecisionRow } from "#dashboard/schema/reading.ts";
import type { Clock } from "#platform/time.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { StoredRecords } from "#records/stored-records.ts";

type Endpoints = "GET decisions" | "GET decisions/{id}" | "GET decisions/live";

/** Lists of decisions, live ones, and one with its explanation. */
export function decisionEndpoints({ clock, config, explained, records }: EndpointSources): ApiHandlers<Endpoints> {
  return {
    "GET decisions": async ({ query }) => {
      const { limit, before, range: key, ...named } = query;
      const range = namedRange({ ...named, range: key }, clock.now());
      const filter = { ...named, from_ms: range.from_ms, to_ms: range.to_ms };
      const summed = before === undefined ? rollupFilter(filter) : undefined;
      const [page, total] = await Promise.all([
        records.query(recordFilter(filter), { limit, ...(before === undefined ? {} : { before }) }),
        summed && records.summary(timeRange(range), summed),
      ]);
      return {
        range,
        filter,
        rows: page.records.map(decisionRow),
        next_before: page.more ? (page.records.at(-1)?.seq ?? null) : null,
        total: total === undefined ? null : { requests: total.requests, cost_nano_usd: total.cost_nano_usd },
      };
    },

    "GET decisions/live": liveDecisions({ clock, records }),

    "GET decisions/{id}": async ({ params: { id = "" } }) => {
      const found = await explained(id);
      if (found === undefined) {
        const detail = "There is no record of this decision: it is older than the retention, or the id is another one.";
        throw new ApiProblem(404, detail, "unknown_decision");
      }
      const { explanation, ...record } = found;
      const { baseline_nano_usd, cost_nano_usd } = record;
      const baseline_model = config().registry.byRole.senior?.key;
      return {
        row: decisionRow(record),
        record,
        sentence: explanation?.sentence ?? "",
        stages: explanation?.stages ?? [],
        contributions: record.contributions,
        thresholds: record.thresholds,
        would_change: explanation?.would_change ?? [],
        saved:
          baseline_nano_usd === null || baseline_model === undefined
            ? null
            : { baseline_model, baseline_nano_usd, saved_nano_usd: baseline_nano_usd - cost_nano_usd },
      };
    },
  };
}

/** A record as lists show it. */
function decisionRow(record: DecisionRecord): DecisionRow {
  return DecisionRow.parse({
    ...record,
    attempts: record.attempts.length,
    redactions: record.redactions.reduce((sum, { count }) => sum + count, 0),
    prompt_tokens: record.tokens?.prompt ?? 0,
    completion_tokens: record.tokens?.completion ?? 0,
    first_token_ms: record.timings.first_token_ms,
    total_ms: record.timings.total_ms,
  });
}

/** Missed records that a resumed feed gets; if there are more, it gets a `gap` event. */
const maxResumed = 200;

export interface LiveSources {
  readonly clock: Pick<Clock, "now">;
  readonly records: Pick<StoredRecords, "query" | "subscribe">;
}

/** Records as they are made, those first that were missed since `Last-Event-ID`. */
export function liveDecisions({ clock, records }: LiveSources): ApiHandler<"GET decisions/live"> {
  return ({ query, lastEventId }, stream) => {
    const { limit: _, before: __, range: ___, from_ms: ____, to_ms: _____, ...named } = query;
    const filter = recordFilter(named);
    const after = lastEventId !== undefined && /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : undefined;
    /** Live records wait until those that were missed have been sent. */
    let waiting: DecisionRecord[] | undefined = after === undefined ? undefined : [];
    let missed = 0;
    /** What was sent of the missed ones: with several nodes, the store is polled for them too. */
    const resumed = new Set<string>();

    const send = (record: DecisionRecord): void => {
      if (missed > 0 && stream.send({ kind: "gap", since_ms: null, missed })) missed = 0;
      if (missed > 0 || !stream.send({ kind: "decision", row: decisionRow(record) }, String(record.seq))) missed += 1;
    };
    const stop = records.subscribe(filter, (news) => {
      for (const record of news) {
        if (resumed.has(record.decision_id)) continue;
        if (waiting === undefined) send(record);
        else if (waiting.length < maxResumed) waiting.push(record);
        else missed += 1;
      }
    });
    stream.send({ kind: "hello", at_ms: clock.now(), resumed: after !== undefined });

    const resume = async (from: number): Promise<void> => {
      const page = await records.query(filter, { after: from, limit: maxResumed }).catch(() => undefined);
      if (page === undefined || page.more) stream.send({ kind: "gap", since_ms: null, missed: null });
      else {
        for (const record of page.records) {
          resumed.add(record.decision_id);
          send(record);
        }
      }
      const late = waiting ?? [];
      waiting = undefined;
      for (const record of late) if (!resumed.has(record.decision_id)) send(record);
    };
    if (after !== undefined) void resume(after);
    return stop;
  };
}
