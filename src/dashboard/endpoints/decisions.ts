import { recordFilterOf, rollupFilterOf } from "#dashboard/api/filter.ts";
import { type ApiHandler, ApiProblem } from "#dashboard/api/handlers.ts";
import { rangeOf, timeRangeOf } from "#dashboard/api/range.ts";
import { rowOf } from "#dashboard/api/row.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { Clock } from "#platform/time.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { DecisionRecords, TimeRange } from "#records/records.ts";

/** `GET decisions`: records, newest first, by keyset pages. */
export function decisionsHandler({ clock, records }: DashboardSources): ApiHandler<"GET decisions"> {
  return async ({ query }) => {
    const { limit, before, range: key, ...named } = query;
    const range = rangeOf({ ...named, range: key }, clock.now());
    const filter = { ...named, from_ms: range.from_ms, to_ms: range.to_ms };
    const [page, total] = await Promise.all([
      records.query(recordFilterOf(filter), { limit, ...(before === undefined ? {} : { before }) }),
      before === undefined ? totalOf(records, filter, timeRangeOf(range)) : null,
    ]);
    return {
      range,
      filter,
      rows: page.records.map(rowOf),
      next_before: page.more ? (page.records.at(-1)?.seq ?? null) : null,
      total,
    };
  };
}

async function totalOf(records: DecisionRecords, filter: Parameters<typeof rollupFilterOf>[0], range: TimeRange) {
  const summed = rollupFilterOf(filter);
  if (summed === undefined) return null;
  const { requests, cost_nano_usd } = await records.summary(range, summed);
  return { requests, cost_nano_usd };
}

/** `GET decisions/{id}`: one decision with its whole explanation. */
export function decisionHandler({ explained, config }: DashboardSources): ApiHandler<"GET decisions/{id}"> {
  return async ({ params: { id = "" } }) => {
    const found = await explained(id).catch(() => {
      const detail = "The decision records cannot be read now. Try again shortly.";
      throw new ApiProblem(503, detail, "records_unavailable");
    });
    if (found === undefined) {
      const detail = "There is no record of this decision: it is older than the retention, or the id is another one.";
      throw new ApiProblem(404, detail, "unknown_decision");
    }
    const { explanation, ...record } = found;
    return {
      row: rowOf(record),
      record,
      sentence: explanation?.sentence ?? "",
      stages: explanation?.stages ?? [],
      contributions: record.contributions,
      thresholds: record.thresholds,
      would_change: explanation?.would_change ?? [],
      saved: savedOf(record, config().registry.byRole.senior?.key),
    };
  };
}

function savedOf({ baseline_nano_usd, cost_nano_usd }: DecisionRecord, baselineModel: string | undefined) {
  if (baseline_nano_usd === null || baselineModel === undefined) return null;
  return { baseline_model: baselineModel, baseline_nano_usd, saved_nano_usd: baseline_nano_usd - cost_nano_usd };
}

/** Missed records that a resumed feed gets; if there are more, it gets a `gap` event. */
const maxResumed = 200;

export interface LiveSources {
  readonly clock: Pick<Clock, "now">;
  readonly records: Pick<DecisionRecords, "query" | "subscribe">;
}

/** `GET decisions/live`: records as they are made, those first that were missed since `Last-Event-ID`. */
export function liveHandler({ clock, records }: LiveSources): ApiHandler<"GET decisions/live"> {
  return ({ query, lastEventId }, stream) => {
    const { limit: _, before: __, range: ___, from_ms: ____, to_ms: _____, ...named } = query;
    const filter = recordFilterOf(named);
    const after = lastEventId !== undefined && /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : undefined;
    /** Live records wait until those that were missed have been sent. */
    let waiting: DecisionRecord[] | undefined = after === undefined ? undefined : [];
    let missed = 0;
    /** What was sent of the missed ones: with several nodes, the store is polled for them too. */
    const resumed = new Set<string>();

    const send = (record: DecisionRecord): void => {
      if (missed > 0 && stream.send({ kind: "gap", since_ms: null, missed })) missed = 0;
      if (missed > 0 || !stream.send({ kind: "decision", row: rowOf(record) }, String(record.seq))) missed += 1;
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
