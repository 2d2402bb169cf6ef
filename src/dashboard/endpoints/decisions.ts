import { z } from "zod";
import { type Call, endpoint, Refusal } from "#dashboard/endpoint.ts";
import type { EventStream } from "#dashboard/event-stream.ts";
import { errorOf } from "#domain/errors.ts";
import { DecisionFilter, namedRange, recordFilter, rollupFilter, timeRange } from "#operator/query.ts";
import { type DecisionRow, decisionRow } from "#operator/records.ts";
import type { OperatorSources } from "#operator/sources.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { unprovenCost } from "#records/records.ts";

const DecisionsQuery = DecisionFilter.extend({
  before: z.coerce.number().int().min(0).optional().describe("`next_before` of the page before; absent: the newest."),
  limit: z.coerce.number().int().min(1).max(200).default(100),
});

/** Lists of decisions, live ones, and one with its explanation. */
export function decisionEndpoints({ clock, config, explained, records }: OperatorSources) {
  return {
    "GET decisions": endpoint({
      about: "Records, newest first, by keyset pages. The first page has the totals where the roll-ups know them.",
      query: DecisionsQuery,
      async answer({ query }) {
        const { limit, before, ...named } = query;
        const range = namedRange(named, clock.now());
        const filter: DecisionFilter = { ...named, from_ms: range.from_ms, to_ms: range.to_ms };
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
    }),

    "GET decisions/live": endpoint({
      about:
        "New records as they are made, filtered. The `id:` of a `decision` is what `Last-Event-ID` takes up from; after a `gap`, events were missed: load the list again.",
      query: DecisionsQuery,
      events: liveDecisions({ clock, records }),
    }),

    "GET decisions/{id}": endpoint({
      about: "One decision with its record, as `GET /v1/route/decisions/{id}` answers it, and its explanation.",
      async answer({ params: { id = "" } }) {
        const found = await explained(id);
        if (found === undefined) throw new Refusal(errorOf("unknown_decision"));
        const { explanation, ...record } = found;
        const { baseline_nano_usd, cost_nano_usd } = record;
        const proven = cost_nano_usd - unprovenCost(record);
        const baseline_model = config().registry.byRole.senior?.key;
        return {
          row: decisionRow(record),
          record,
          sentence: explanation?.sentence ?? "",
          given: explanation?.given ?? [],
          found: explanation?.findings ?? null,
          stages: explanation?.stages ?? [],
          contributions: record.contributions,
          thresholds: record.thresholds,
          would_change: explanation?.would_change ?? [],
          saved:
            baseline_nano_usd === null || baseline_model === undefined
              ? null
              : { baseline_model, baseline_nano_usd, saved_nano_usd: baseline_nano_usd - proven },
        };
      },
    }),
  };
}

export type LiveEvent =
  | { readonly kind: "hello"; readonly at_ms: number; readonly resumed: boolean }
  | { readonly kind: "decision"; readonly row: DecisionRow }
  /** `missed`: so many events, as far as known. */
  | { readonly kind: "gap"; readonly missed: number | null };

/** Missed records that a resumed feed gets; if there are more, it gets a `gap` event. */
const maxResumed = 200;

type LiveCall = Pick<Call<z.output<typeof DecisionsQuery>>, "query" | "lastEventId">;

/** Records as they are made, those first that were missed since `Last-Event-ID`. */
function liveDecisions({ clock, records }: Pick<OperatorSources, "clock" | "records">) {
  return ({ query, lastEventId }: LiveCall, stream: EventStream<LiveEvent>): (() => void) => {
    const { limit: _, before: __, range: ___, from_ms: ____, to_ms: _____, ...named } = query;
    const filter = recordFilter(named);
    const after = lastEventId !== undefined && /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : undefined;
    /** Live records wait until those that were missed have been sent. */
    let waiting: DecisionRecord[] | undefined = after === undefined ? undefined : [];
    let missed = 0;
    /** What was sent of the missed ones: with several nodes, the store is polled for them too. */
    const resumed = new Set<string>();

    const send = (record: DecisionRecord): void => {
      if (resumed.has(record.decision_id)) return;
      if (missed > 0 && stream.send({ kind: "gap", missed })) missed = 0;
      if (missed > 0 || !stream.send({ kind: "decision", row: decisionRow(record) }, String(record.seq))) missed += 1;
    };
    const stop = records.subscribe(filter, (news) => {
      for (const record of news) {
        if (waiting === undefined) send(record);
        else if (waiting.length < maxResumed) waiting.push(record);
        else missed += 1;
      }
    });
    stream.send({ kind: "hello", at_ms: clock.now(), resumed: after !== undefined });

    const resume = async (from: number): Promise<void> => {
      const page = await records.query(filter, { after: from, limit: maxResumed }).catch(() => undefined);
      const found = page === undefined || page.more ? [] : page.records;
      if (page === undefined || page.more) stream.send({ kind: "gap", missed: null });
      for (const record of found) {
        send(record);
        resumed.add(record.decision_id);
      }
      for (const record of waiting ?? []) send(record);
      waiting = undefined;
    };
    if (after !== undefined) void resume(after);
    return stop;
  };
}
