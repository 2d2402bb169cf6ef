import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { jsonLines } from "#platform/testing/json-lines.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import type { RecordFilter, RecordPage, ReportedOutcome, TimeRange } from "#records/records.ts";
import { matchesFilter } from "#records/records.ts";
import type { RecordStore } from "./record-store.ts";
import type { SeriesRequest } from "./summaries.ts";
import { hourMs, minuteMs } from "./sums.ts";

/** The requirements on every store of decision records. `open` returns an empty store. */
export function recordStoreContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: a store of decision records`, () => {
    const startMs = Date.UTC(2026, 5, 1, 12);
    const noTasks = { remembered: 0, remembered_ms: 0 };
    let store: RecordStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    const record = (n: number, given: Partial<DecisionRecord> = {}) =>
      aDecisionRecord(n, { recorded_ms: startMs + n * 1_000, ...given });
    const [attempt] = record(1).attempts;
    /** A record whose attempt has no cost yet. */
    const openRecord = (n: number, given: Partial<DecisionRecord> = {}) => {
      const attempts = [{ ...attempt!, cost_nano_usd: null, cost_source: null }];
      return record(n, { cost_nano_usd: 0, cost_state: "unknown", attempts, ...given });
    };
    const costOf = (requestId: string, charged: number) =>
      ({ id: `${requestId}.${attempt!.number}`, charged, state: "SETTLED" }) as const;
    const append = async (records: readonly DecisionRecord[], size: number) => {
      for (let at = 0; at < records.length; at += size) await store.append(records.slice(at, at + size));
    };
    const idsIn = ({ records }: RecordPage) => records.map(({ decision_id }) => decision_id);
    const ids = async (filter: RecordFilter) => idsIn(await store.query(filter, { limit: 100 }));
    const sum = (of: readonly DecisionRecord[], pick: (record: DecisionRecord) => number) =>
      of.reduce((total, each) => total + pick(each), 0);

    test("returns what was written, by page, the newest first, or the oldest after a given one", async () => {
      const records = [1, 2, 3, 4, 5].map((n) => record(n));
      await append(records, 3);
      expect(await store.query({}, { limit: 2 })).toEqual({ records: [records[4]!, records[3]!], more: true });
      expect(idsIn(await store.query({}, { limit: 9, before: records[3]!.seq }))).toEqual(["d3", "d2", "d1"]);
      const after = await store.query({}, { after: records[1]!.seq, limit: 2 });
      expect(after).toEqual({ records: [records[2]!, records[3]!], more: true });
      expect(await store.query({}, { limit: 5 })).toMatchObject({ more: false });
    });

    test("records of several processes that have one number are on one page", async () => {
      const { seq, recorded_ms } = record(3);
      await append([record(1), record(3), record(2), record(4, { seq, recorded_ms }), record(5), record(6)], 2);
      const all = ["d1", "d2", "d3", "d4", "d5", "d6"];
      for (const limit of [1, 2, 3, 4, 5, 6]) {
        for (const [direction, first] of [["after", 0] as const, ["before", Number.MAX_SAFE_INTEGER] as const]) {
          const pages: (readonly string[])[] = [];
          for (let next: number | undefined = first; next !== undefined; ) {
            const page: RecordPage = await store.query({}, { limit, [direction]: next });
            pages.push(idsIn(page));
            next = page.more ? page.records.at(-1)?.seq : undefined;
          }
          expect([limit, direction, pages.flat().toSorted()]).toEqual([limit, direction, all]);
          for (const page of pages) expect(page.includes("d3")).toBe(page.includes("d4"));
        }
      }
    });

    test("finds records by each field of a filter, also by an empty one", async () => {
      const odd = jsonLines<Partial<DecisionRecord>>(import.meta.dir, "fixtures/odd-records.jsonl");
      await store.append([record(1), record(2, odd[0]), record(3), record(4, odd[1])]);
      const filters = jsonLines<[RecordFilter, string]>(import.meta.dir, "fixtures/filters.jsonl");
      // Times stand in the table from the first record's hour on.
      for (const [{ fromMs, toMs, ...rest }, found] of filters) {
        const from = fromMs === undefined ? {} : { fromMs: startMs + fromMs };
        const filter = { ...rest, ...from, ...(toMs !== undefined && { toMs: startMs + toMs }) };
        expect([filter, (await ids(filter)).join(" ")]).toEqual([filter, found]);
      }
    });

    test("returns a record by its own id, or else the newest by the request's id", async () => {
      await store.append([record(1, { request_id: "same" }), record(2, { request_id: "same" })]);
      expect((await store.get("d1"))?.decision_id).toBe("d1");
      expect((await store.get("same"))?.decision_id).toBe("d2");
      expect(await store.get("o'b")).toBeUndefined();
    });

    describe("sums", () => {
      const records = Array.from({ length: 300 }, (_, n) =>
        record(n, {
          recorded_ms: startMs + n * 40_000,
          cost_nano_usd: n * 7,
          tier: n % 3 === 0 ? "pro" : "flash",
          served_by: n % 3 === 0 ? "vendor_v4_pro" : "vendor_v4_flash",
          cause: n % 3 === 0 ? "hard_pro_rule" : "score_flash",
          outcome: n % 10 === 0 ? "refused" : "answered",
          status: n % 10 === 0 ? 403 : 200,
          refused_by: n % 10 === 0 ? "gateway" : null,
          repeated: n === 10 ? 50 : 1,
          baseline_nano_usd: n % 5 === 0 ? null : n * 9,
        }),
      );
      const nowMs = startMs + 4 * hourMs;
      const range = { fromMs: startMs, toMs: nowMs };
      beforeEach(() => append(records, 64));

      test("equal the sums of the records, for every key, filtered or not, in any range of minutes", async () => {
        const minutes = (from: number, to: number) => ({
          fromMs: startMs + from * minuteMs,
          toMs: startMs + to * minuteMs,
        });
        const cases: readonly (readonly [RecordFilter, TimeRange])[] = [
          [{}, range],
          [{ tier: ["pro"] }, range],
          [{ status: ["4xx"], cause: ["hard_pro_rule"] }, range],
          [{}, minutes(7, 200)],
          [{}, minutes(60, 180)],
        ];
        for (const [filter, { fromMs, toMs }] of cases) {
          const summary = await store.summary({ fromMs, toMs }, filter, nowMs);
          const of = records.filter((each) => matchesFilter(each, { ...filter, fromMs, toMs }));
          expect([summary.from_ms, summary.to_ms]).toEqual([fromMs, toMs]);
          expect(summary.requests).toBe(sum(of, ({ repeated }) => repeated));
          expect(summary.cost_nano_usd).toBe(sum(of, ({ cost_nano_usd }) => cost_nano_usd));
          expect(summary.baseline_nano_usd).toBe(sum(of, ({ baseline_nano_usd }) => baseline_nano_usd ?? 0));
          expect(summary.prompt_tokens).toBe(of.length * 100);
          for (const shares of Object.values(summary.by)) {
            expect(shares.reduce((total, { cost_nano_usd }) => total + cost_nano_usd, 0)).toBe(summary.cost_nano_usd);
          }
        }
        const all = await store.summary(range, {}, nowMs);
        expect(all).toMatchObject({ outcomes: { answered: 270, refused: 79 } });
        expect(all.first_token_p50_ms).toBeGreaterThan(200);
        expect(all.first_token_p95_ms).toBeLessThanOrEqual(350);
        expect(all.oldest_record_ms).toBe(startMs);
        expect(all.by.refused_by.map(({ key, requests }) => [key, requests])).toEqual([
          ["", 270],
          ["gateway", 79],
        ]);
        // By hours, once the minutes are too old.
        const later = await store.summary(range, {}, nowMs + 100 * 24 * hourMs);
        expect({ ...later, to_ms: 0 }).toEqual({ ...all, to_ms: 0 });
      });

      test("have series, whose points add up", async () => {
        const total = (values: readonly (number | null)[]) =>
          values.reduce<number>((all, value) => all + (value ?? 0), 0);
        const series = await store.series({ metric: "cost_nano_usd", by: "tier", range, maxPoints: 20 }, nowMs);
        expect(series.bucket_ms % minuteMs).toBe(0);
        expect(series.at_ms.length).toBeLessThanOrEqual(21);
        for (const { key, values } of series.lines) {
          const of = records.filter(({ tier }) => tier === key);
          expect(total(values)).toBe(sum(of, ({ cost_nano_usd }) => cost_nano_usd));
        }
        const refusals = await store.series({ metric: "refusals", range, maxPoints: 1_000 }, nowMs);
        expect(total(refusals.lines[0]!.values)).toBe(79);
        const p95 = await store.series({ metric: "first_token_p95_ms", range, maxPoints: 400 }, nowMs);
        expect(p95.lines[0]!.values.some((value) => value !== null && value > 200)).toBe(true);
      });
    });

    test("counts calls by their model, secrets by their rule, labels, and what switches of model cost", async () => {
      const call = (n: number, model: string, outcome: string) => ({ ...attempt!, number: n, model, outcome });
      const [flash, pro] = ["vendor_v4_flash", "vendor_v4_pro"];
      const attempts = [call(2, flash, "cut_off"), call(3, flash, "timed_out"), call(4, pro, "answered")];
      await store.append([
        record(1, { attempts, stream: true, label: "ci", redactions: [{ rule: "openai_key", count: 3 }] }),
        record(2, { switched: { from: pro, cost_nano_usd: 500 } }),
        record(3, { switched: { from: pro, cost_nano_usd: -200 }, redactions: [{ rule: "email", count: 1 }] }),
      ]);
      const range = { fromMs: startMs, toMs: startMs + hourMs };
      const calls = await store.groups("attempt", range, 9);
      expect(calls.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toMatchObject([
        { key: flash, requests: 4, failed: 2, retries: 1, fail_overs: 1, output_ms: 0 },
        { key: pro, requests: 1, failed: 0, retries: 0, fail_overs: 0, output_ms: 590, output_tokens: 50 },
      ]);
      const found = await store.groups("redaction", range, 9);
      expect(found.map(({ key, requests }) => [key, requests])).toEqual([
        ["openai_key", 3],
        ["email", 1],
      ]);
      expect(await store.groups("session", range, 9)).toMatchObject([{ key: "s1", switches: 2, switch_nano_usd: 300 }]);
      const summary = await store.summary(range, {}, startMs);
      expect(summary).toMatchObject({ requests: 3, switches: 2, switch_nano_usd: 300 });
      expect(summary.by.label.map(({ key, requests }) => [key, requests])).toEqual([
        ["", 2],
        ["ci", 1],
      ]);
      expect((await store.summary(range, { label: ["ci"] }, startMs)).requests).toBe(1);
      const lines = async (metric: SeriesRequest["metric"], by: "model" | "redaction") =>
        (await store.series({ metric, by, range, maxPoints: 1 }, startMs)).lines;
      expect(await lines("failed_attempts", "model")).toEqual([
        { key: flash, values: [2] },
        { key: pro, values: [0] },
      ]);
      expect(await lines("redactions", "redaction")).toEqual([
        { key: "email", values: [1] },
        { key: "openai_key", values: [3] },
      ]);
      expect((await lines("output_tokens_per_s", "model"))[1]?.values[0]).toBeCloseTo(50 / 0.59);
    });

    test("sums goals and sessions over hours, corrections included, as long as there are records", async () => {
      const hours = (from: number, to: number) => ({ fromMs: startMs + from * hourMs, toMs: startMs + to * hourMs });
      const records = Array.from({ length: 12 }, (_, n) =>
        record(n, { recorded_ms: startMs + n * hourMs + 1_000, cost_nano_usd: 10 ** (n % 3), goal: `g${n % 2}` }),
      );
      await append([...records, record(99, { goal: null })], 5);
      await store.correct([costOf("d4", attempt!.cost_nano_usd! + 1_000_000_000)]);
      records[4]!.cost_nano_usd += 1_000_000_000;
      for (const [from, to] of [
        [0, 12],
        [3, 11],
        [4, 5],
      ] as const) {
        const groups = await store.groups("goal", hours(from, to), 9);
        const expected = [...Map.groupBy(records.slice(from, to), ({ goal }) => goal)].map(([key, of]) => ({
          key,
          requests: of.length,
          cost_nano_usd: sum(of, ({ cost_nano_usd }) => cost_nano_usd),
          last_ms: of.at(-1)!.recorded_ms,
        }));
        expect(groups).toMatchObject(expected.toSorted((a, b) => b.cost_nano_usd - a.cost_nano_usd));
      }
      expect(await store.groups("goal", hours(0, 12), 1)).toHaveLength(1);
      await store.pruneOthers(startMs + 200 * hourMs, startMs + 200 * hourMs, noTasks, 1e9);
      expect(await store.groups("session", hours(0, 200), 9)).toEqual([]);
    });

    test("writes a batch completely or not at all", async () => {
      await store.append(Array.from({ length: 100 }, (_, n) => record(n)));
      // A block begins with that record already.
      expect(await store.append([record(0), record(100)]).catch((error: unknown) => error)).toBeInstanceOf(Error);
      expect(await store.get("d100")).toBeUndefined();
      expect((await store.summary({ fromMs: startMs, toMs: startMs + hourMs }, {}, startMs)).requests).toBe(100);
      expect((await store.size()).rows).toBe(100);
    });

    test("corrects a cost that the ledger learns later, with every sum; a repeat changes nothing", async () => {
      const range = { fromMs: startMs, toMs: startMs + hourMs };
      await store.append([openRecord(1), record(2)]);
      await store.append([openRecord(3)]);
      expect(await ids({ costState: ["unknown"] })).toEqual(["d3", "d1"]);
      expect(await store.correct([costOf("d1", 555), costOf("nobody", 1)])).toBe(1);
      expect(await store.correct([costOf("d1", 555)])).toBe(0);
      expect(await ids({ costState: ["unknown"] })).toEqual(["d3"]);
      const attempts = [{ cost_nano_usd: 555, cost_source: "ledger" }];
      expect(await store.get("d1")).toMatchObject({ cost_nano_usd: 555, cost_state: "known", attempts });
      expect(await store.summary(range, {}, startMs)).toMatchObject({ cost_nano_usd: 40_555, cost_unknown: 1 });
      expect((await store.groups("goal", range, 1))[0]?.cost_nano_usd).toBe(40_555);
      // Also of a record in the block that the next batch is added to.
      await store.append([record(4)]);
      expect((await store.get("d1"))?.cost_nano_usd).toBe(555);
      // A hold that is charged because nobody knows the cost is no part of what was saved.
      const before = (await store.summary(range, {}, startMs)).baseline_cost_nano_usd;
      await store.correct([{ ...costOf("d3", 9_000_000), state: "EXPIRED_CHARGED" }]);
      expect(await store.get("d3")).toMatchObject({ cost_state: "estimated", attempts: [{ cost_source: "hold" }] });
      const after = await store.summary(range, {}, startMs);
      expect([after.cost_nano_usd, after.baseline_cost_nano_usd]).toEqual([9_080_555, before]);
    });

    test("corrects a cost once if two nodes learn it at the same time", async () => {
      await store.append([openRecord(1)]);
      const written = await Promise.all([store.correct([costOf("d1", 555)]), store.correct([costOf("d1", 555)])]);
      expect(written.toSorted()).toEqual([0, 1]);
      const summary = await store.summary({ fromMs: startMs, toMs: startMs + hourMs }, {}, startMs);
      expect(summary).toMatchObject({ cost_nano_usd: 555, cost_unknown: 0 });
    });

    test("loses nothing if records are added to a block while one in it is changed", async () => {
      await store.append([openRecord(1)]);
      for (let n = 2; n < 12; n++) {
        await Promise.all([store.append([record(n)]), store.correct([costOf("d1", n)])]);
        expect((await store.get("d1"))?.cost_nano_usd).toBe(n);
        expect(await ids({})).toHaveLength(n);
      }
    });

    test("keeps what a caller reports, the last report, of a known decision", async () => {
      await store.append([record(1), record(2, { model: null })]);
      const known = async (report: ReportedOutcome) => [
        ...(await store.reportOutcomes([report.decisionId], new Map([[report.decisionId, report]]))),
      ];
      for (const outcome of ["failed", "solved"] as const) {
        expect(await known({ decisionId: "d1", outcome, score: 0.5 })).toEqual(["d1"]);
      }
      expect((await store.get("d1"))?.reported).toEqual({ outcome: "solved", score: 0.5 });
      for (const decisionId of ["d2", "nobody"]) {
        expect(await known({ decisionId, outcome: "failed", score: null })).toEqual([]);
      }
    });

    test("counts a thousand callers' names of an hour, the rest and refused new names as others", async () => {
      const many = Array.from({ length: 1_100 }, (_, n) =>
        record(n, { goal: `g${n}`, session: `s${n}`, ...(n < 50 ? { outcome: "refused" as const } : {}) }),
      );
      await append([...many, openRecord(2_000, { goal: "late", session: "late" })], 100);
      const range = { fromMs: startMs, toMs: startMs + hourMs };
      const goals = () => store.groups("goal", range, 2_000);
      const others = async () => (await goals()).find(({ key }) => key === "others");
      expect(await goals()).toHaveLength(1_001);
      expect((await goals()).reduce((sum, { requests }) => sum + requests, 0)).toBe(1_101);
      const before = (await others())?.cost_nano_usd ?? 0;
      expect(await others()).toMatchObject({ requests: 101, refused: 50 });
      await store.correct([costOf("d2000", 70_000)]);
      expect(((await others())?.cost_nano_usd ?? 0) - before).toBe(70_000);
      // They take a tenth of the bytes at most: whole hours, and the one in which that is reached stays.
      const later = Array.from({ length: 100 }, (_, n) => {
        const recorded_ms = startMs + hourMs + n;
        return record(3_000 + n, { goal: `g${n}`, recorded_ms, seq: recorded_ms * 1024 });
      });
      await append(later, 100);
      await store.pruneOthers(0, startMs, noTasks, 1e6);
      expect((await goals()).length).toBe(0);
      expect(await store.groups("goal", { fromMs: startMs, toMs: startMs + 2 * hourMs }, 2_000)).toHaveLength(100);
    });

    test("deletes the oldest in chunks, by age or by size, and counts the rest", async () => {
      const records = Array.from({ length: 200 }, (_, n) => {
        const recorded_ms = startMs + Math.floor(n / 20) * 20 * minuteMs;
        return record(n, { recorded_ms, seq: recorded_ms * 1024 + (n % 20) });
      });
      await append(records, 20);
      const { rows, bytes } = await store.size();
      expect(rows).toBe(200);
      expect(bytes).toBeGreaterThan(200 * 30);
      const summary = { fromMs: startMs, toMs: startMs + 4 * hourMs };
      // A block is deleted once the last of its records is old enough.
      expect(await store.prune(startMs + 20 * minuteMs, bytes)).toBe(0);
      expect(await store.prune(startMs + 61 * minuteMs, bytes)).toBe(60);
      expect(await store.prune(startMs + 61 * minuteMs, bytes)).toBe(0);
      expect(await ids({ toMs: startMs + 60 * minuteMs })).toEqual([]);
      expect((await store.size()).rows).toBe(140);
      expect(await store.prune(0, (await store.size()).bytes - 1)).toBe(60);
      while ((await store.prune(0, 0)) > 0);
      expect(await store.size()).toEqual({ rows: 0, bytes: 0 });
      // The sums of deleted records stay.
      expect((await store.summary(summary, {}, startMs)).requests).toBe(200);
      await store.pruneOthers(startMs, startMs + 500 * 24 * hourMs, noTasks, 1e9);
      expect((await store.summary(summary, {}, startMs)).requests).toBe(0);
    });

    test("stores each configuration once, until no record can refer to it", async () => {
      await store.saveConfig("a", "{}", 1);
      await store.saveConfig("b", '{"it": "o\'b"}', 2);
      await store.saveConfig("b", "ignored", 3);
      expect(await store.config("b")).toBe('{"it": "o\'b"}');
      await store.pruneOthers(10, 10, noTasks, 1e9);
      expect(await store.config("a")).toBeUndefined();
      expect(await store.config("b")).toBeDefined();
    });
  });
}
