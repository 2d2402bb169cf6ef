import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { DecisionRecord } from "#records/decision-record.ts";
import { matchesFilter } from "#records/filter.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import type { RecordFilter, RecordPage } from "#records/records.ts";
import type { RecordStore } from "./record-store.ts";
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
    const ids = async (filter: RecordFilter, page = {}) =>
      (await store.query(filter, { limit: 100, ...page })).records.map(({ decision_id }) => decision_id);

    test("returns what was written, by page, the newest first, or the oldest after a given one", async () => {
      const records = [1, 2, 3, 4, 5].map((n) => record(n));
      await store.append(records.slice(0, 3));
      await store.append(records.slice(3));
      expect(await store.query({}, { limit: 2 })).toEqual({ records: [records[4]!, records[3]!], more: true });
      expect(await ids({}, { before: records[3]!.seq })).toEqual(["d3", "d2", "d1"]);
      expect(await store.query({}, { after: records[1]!.seq, limit: 2 })).toEqual({
        records: [records[2]!, records[3]!],
        more: true,
      });
      expect(await store.query({}, { limit: 5 })).toMatchObject({ more: false });
    });

    test("records of several processes that have one number are on one page, each with its own cost", async () => {
      const seq = record(3).seq;
      const batches = [
        [record(1), record(3)],
        [record(2), record(4, { seq, recorded_ms: record(3).recorded_ms })],
        [record(5), record(6)],
      ];
      for (const batch of batches) await store.append(batch);
      const pages = async (limit: number, direction: "after" | "before") => {
        const found: (readonly string[])[] = [];
        for (let next: number | undefined = direction === "after" ? 0 : Number.MAX_SAFE_INTEGER; next !== undefined; ) {
          const { records, more }: RecordPage = await store.query({}, { limit, [direction]: next });
          found.push(records.map(({ decision_id }) => decision_id).toSorted());
          next = more ? records.at(-1)?.seq : undefined;
        }
        return found;
      };
      for (const limit of [1, 2, 3, 4, 5, 6]) {
        for (const direction of ["after", "before"] as const) {
          const found = await pages(limit, direction);
          expect([limit, direction, found.flat().toSorted()]).toEqual([
            limit,
            direction,
            ["d1", "d2", "d3", "d4", "d5", "d6"],
          ]);
          for (const page of found) expect(page.includes("d3")).toBe(page.includes("d4"));
        }
      }
      expect(await pages(3, "after")).toEqual([
        ["d1", "d2", "d3", "d4"],
        ["d5", "d6"],
      ]);

      const costs = async () => {
        const { records } = await store.query({}, { limit: 10 });
        const byId = new Map(records.map((each) => [each.decision_id, each.cost_nano_usd]));
        return [byId.get("d3"), byId.get("d4")];
      };
      const corrected = (decisionId: string, costNanoUsd: number) =>
        store.correct([{ decisionId, attempt: 2, costNanoUsd, state: "known" }]);
      expect(await corrected("d3", 7_000_000)).toBe(1);
      expect(await costs()).toEqual([7_000_000, record(4).cost_nano_usd]);
      expect(await corrected("d4", 9_000)).toBe(1);
      expect(await costs()).toEqual([7_000_000, 9_000]);
      expect([(await store.get("d3"))?.cost_nano_usd, (await store.get("d4"))?.cost_nano_usd]).toEqual([
        7_000_000, 9_000,
      ]);
    });

    test.each([
      ["of several processes", 1],
      ["of one batch", 2],
    ])("records %s that have one number and no cost yet are found until each has its own", async (_, batchLength) => {
      const [attempt] = record(1).attempts;
      const open = (n: number) =>
        record(n, {
          seq: record(1).seq,
          cost_nano_usd: 0,
          cost_state: "unknown",
          attempts: [{ ...attempt!, cost_nano_usd: null, cost_source: null }],
        });
      const later = record(9, { cost_nano_usd: 0, cost_state: "unknown" });
      // A block is named by its first number, so those of two processes begin differently.
      const batches = batchLength === 1 ? [[record(0), open(1)], [open(2)]] : [[record(0), open(1), open(2)]];
      for (const batch of [...batches, [later]]) await store.append(batch);
      const unknown = async () => (await ids({ costState: ["unknown"] })).toSorted();
      expect(await unknown()).toEqual(["d1", "d2", "d9"]);
      for (const [decisionId, costNanoUsd] of [
        ["d2", 22],
        ["d1", 11],
      ] as const) {
        await store.correct([{ decisionId, attempt: attempt!.number, costNanoUsd, state: "known" }]);
        expect(await unknown()).toEqual(decisionId === "d2" ? ["d1", "d9"] : ["d9"]);
      }
      const { records } = await store.query({ toMs: startMs + 2_000 }, { limit: 9 });
      expect(new Map(records.map((each) => [each.decision_id, each.cost_nano_usd]))).toEqual(
        new Map([
          ["d0", record(0).cost_nano_usd],
          ["d1", 11],
          ["d2", 22],
        ]),
      );
      while ((await store.prune(0, 0)) > 0);
      expect(await store.openCosts()).toEqual({ corrections: [] });
    });

    test("finds records whose field is empty, under the name that the sums use", async () => {
      const refused = {
        cause: null,
        tier: null,
        model: null,
        served_by: null,
        status: 401,
        outcome: "refused" as const,
      };
      await store.append([record(1), record(2, refused), record(3, { refused_by: "gateway" })]);
      for (const filter of [
        { cause: [""] },
        { tier: [""] },
        { model: [""] },
        { cause: ["", "affinity"], status: ["4xx"] },
      ]) {
        expect(await ids(filter), JSON.stringify(filter)).toEqual(["d2"]);
        expect(matchesFilter(record(2, refused), filter), JSON.stringify(filter)).toBe(true);
        expect(matchesFilter(record(1), filter), JSON.stringify(filter)).toBe(false);
      }
      expect(await ids({ refusedBy: [""] })).toEqual(["d2", "d1"]);
    });

    test("finds records by each field of a filter", async () => {
      const odd: Partial<DecisionRecord> = {
        session: "o'b%_",
        goal: 'g"\\é\u0000x'.replaceAll("\u0000", ""),
        task: "t1",
        request_id: "r-odd",
        cause: "hard_pro_rule",
        rule: "tool_depth, same_error_count",
        alias: "smart-router-pro",
        served_by: null,
        model: "vendor_v4_pro",
        tier: "pro",
        kind: "AUTH",
        action: "DENY",
        outcome: "refused",
        status: 403,
        refused_by: "gateway",
        error_class: "budget_hard_cap_exceeded",
        cost_state: "unknown",
      };
      await store.append([record(1), record(2, odd), record(3)]);
      const filters: RecordFilter[] = [
        { session: odd.session! },
        { goal: odd.goal! },
        { task: "t1" },
        { requestId: "r-odd" },
        { cause: ["hard_pro_rule"] },
        { rule: "same_error_count" },
        { alias: ["smart-router-pro", "smart-router-free"] },
        { model: ["vendor_v4_pro"] },
        { tier: ["pro"] },
        { kind: ["AUTH"] },
        { action: ["DENY"] },
        { outcome: ["refused"] },
        { status: ["403"] },
        { status: ["5xx", "4xx"] },
        { refusedBy: ["gateway"] },
        { errorClass: ["budget_hard_cap_exceeded"] },
        { costState: ["unknown"] },
        { fromMs: startMs + 2_000, toMs: startMs + 3_000 },
        { tier: ["pro"], status: ["403"], fromMs: startMs },
      ];
      for (const filter of filters) expect([filter, await ids(filter)]).toEqual([filter, ["d2"]]);
      expect(await ids({ rule: "error_count" })).toEqual([]);
      expect(await ids({ goal: "s1/refactor", outcome: ["answered", "refused"] })).toEqual(["d3", "d1"]);
      expect(await ids({ status: ["2xx"], tier: [] })).toEqual([]);
    });

    test("pages through the matches of several conditions, whatever the hourly sums say", async () => {
      // Days of records, floods of refusals (one record, many requests), and conditions that are never met together.
      const all = Array.from({ length: 400 }, (_, n) =>
        record(n, {
          recorded_ms: startMs + Math.floor(n / 3) * (hourMs / 2),
          seq: (startMs + Math.floor(n / 3) * (hourMs / 2)) * 1024 + (n % 3),
          tier: n % 3 === 0 ? "pro" : "flash",
          cause: n % 5 === 0 ? "hard_pro_rule" : "score_flash",
          alias: n % 7 === 0 ? null : n % 2 === 0 ? "smart-router" : "smart-router-pro",
          outcome: n % 4 === 0 ? "refused" : "answered",
          status: n % 4 === 0 ? (n % 8 === 0 ? 401 : 503) : 200,
          refused_by: n % 4 === 0 ? "gateway" : null,
          repeated: n % 16 === 0 ? 500 : 1,
        }),
      );
      for (let at = 0; at < all.length; at += 60) await store.append(all.slice(at, at + 60));
      const filters: RecordFilter[] = [
        { tier: ["pro"], cause: ["hard_pro_rule"] },
        { tier: ["flash"], outcome: ["refused"], status: ["5xx"] },
        { status: ["4xx", "503"], toMs: startMs + 40.5 * hourMs },
        { status: ["4xx"], alias: ["smart-router"], fromMs: startMs + 10.2 * hourMs },
        { status: ["2xx"], outcome: ["refused"] },
        { refusedBy: ["gateway"], cause: ["", "hard_pro_rule"] },
        { alias: [""] },
        { alias: ["", "smart-router-pro"], tier: ["pro"] },
      ];
      const newest = all.toReversed().toSorted((a, b) => b.seq - a.seq);
      const expectPages = async () => {
        for (const filter of filters) {
          const expected = newest.filter((each) => matchesFilter(each, filter)).map(({ decision_id }) => decision_id);
          const found: string[] = [];
          for (let before: number | undefined; ; ) {
            const page: RecordPage = await store.query(filter, {
              limit: 7,
              ...(before === undefined ? {} : { before }),
            });
            found.push(...page.records.map(({ decision_id }) => decision_id));
            before = page.records.at(-1)?.seq;
            if (!page.more) break;
            expect(page.records).toHaveLength(7);
          }
          expect([filter, found]).toEqual([filter, expected]);
        }
      };
      await expectPages();
      // Records may be kept for longer than their sums.
      await store.pruneOthers(startMs, startMs + 20 * hourMs + 400 * 24 * hourMs, noTasks);
      await expectPages();
    });

    test("returns a record by its own id, or else the newest by the request's id", async () => {
      await store.append([record(1, { request_id: "same" }), record(2, { request_id: "same" })]);
      expect((await store.get("d1"))?.decision_id).toBe("d1");
      expect((await store.get("same"))?.decision_id).toBe("d2");
      expect(await store.get("o'b")).toBeUndefined();
    });

    test("sums equal the sums of the records, for every key, filtered or not", async () => {
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
          goal: `g${n % 4}`,
          session: n % 2 === 0 ? "even" : null,
          repeated: n === 10 ? 50 : 1,
          baseline_nano_usd: n % 5 === 0 ? null : n * 9,
        }),
      );
      for (let at = 0; at < records.length; at += 64) await store.append(records.slice(at, at + 64));
      const sum = (of: readonly DecisionRecord[], pick: (record: DecisionRecord) => number) =>
        of.reduce((total, each) => total + pick(each), 0);
      const nowMs = startMs + 4 * hourMs;
      const range = { fromMs: startMs, toMs: nowMs };
      for (const [filter, passes] of [
        [{}, () => true],
        [{ tier: ["pro"] }, ({ tier }: DecisionRecord) => tier === "pro"],
        [{ status: ["4xx"], cause: ["hard_pro_rule"] }, (it: DecisionRecord) => it.status === 403 && it.tier === "pro"],
      ] as const) {
        const summary = await store.summary(range, filter, nowMs);
        const of = records.filter(passes);
        expect(summary.requests).toBe(sum(of, ({ repeated }) => repeated));
        expect(summary.cost_nano_usd).toBe(sum(of, ({ cost_nano_usd }) => cost_nano_usd));
        expect(summary.baseline_nano_usd).toBe(sum(of, ({ baseline_nano_usd }) => baseline_nano_usd ?? 0));
        expect(summary.prompt_tokens).toBe(of.length * 100);
        expect(summary.by.tier.reduce((total, { cost_nano_usd }) => total + cost_nano_usd, 0)).toBe(
          summary.cost_nano_usd,
        );
        // The link of a number: the records of the same range and filter.
        const listed: DecisionRecord[] = [];
        for (let before: number | undefined; ; before = listed.at(-1)?.seq) {
          const page = await store.query(
            { ...filter, fromMs: summary.from_ms, toMs: summary.to_ms },
            before === undefined ? { limit: 50 } : { limit: 50, before },
          );
          listed.push(...page.records);
          if (!page.more) break;
        }
        expect(sum(listed, ({ cost_nano_usd }) => cost_nano_usd)).toBe(summary.cost_nano_usd);
      }
      const all = await store.summary(range, {}, nowMs);
      expect(all.outcomes).toEqual({ answered: 270, refused: 79 });
      expect(all.refused_by_gateway).toBe(79);
      expect(all.first_token_p50_ms).toBeGreaterThan(200);
      expect(all.first_token_p95_ms).toBeLessThanOrEqual(350);
      expect(all.oldest_record_ms).toBe(startMs);

      expect(all.by.outcome.map(({ key, requests }) => [key, requests])).toEqual([
        ["answered", 270],
        ["refused", 79],
      ]);
      expect(all.by.refused_by.map(({ key, requests }) => [key, requests])).toEqual([
        ["", 270],
        ["gateway", 79],
      ]);

      // A range that begins and ends within an hour: only its minutes are counted.
      for (const [from, to] of [
        [7, 200],
        [61, 179],
        [10, 20],
        [60, 180],
      ] as const) {
        const part = { fromMs: startMs + from * minuteMs, toMs: startMs + to * minuteMs };
        const within = records.filter(({ recorded_ms }) => recorded_ms >= part.fromMs && recorded_ms < part.toMs);
        const summary = await store.summary(part, {}, nowMs);
        expect([summary.from_ms, summary.to_ms]).toEqual([part.fromMs, part.toMs]);
        expect(summary.requests).toBe(sum(within, ({ repeated }) => repeated));
        expect(summary.cost_nano_usd).toBe(sum(within, ({ cost_nano_usd }) => cost_nano_usd));
      }

      // By hours, once the minutes are too old.
      const later = await store.summary(range, {}, nowMs + 100 * 24 * hourMs);
      expect({ ...later, to_ms: 0 }).toEqual({ ...all, to_ms: 0 });

      const series = await store.series({ metric: "cost_nano_usd", by: "tier", range, maxPoints: 20 }, nowMs);
      expect(series.bucket_ms % minuteMs).toBe(0);
      expect(series.at_ms.length).toBeLessThanOrEqual(21);
      for (const { key, values } of series.lines) {
        const total = values.reduce((total: number, value) => total + (value ?? 0), 0);
        expect(total).toBe(
          sum(
            records.filter(({ tier }) => tier === key),
            ({ cost_nano_usd }) => cost_nano_usd,
          ),
        );
      }
      const refusals = await store.series({ metric: "refusals", range, maxPoints: 1_000 }, nowMs);
      expect(refusals.lines[0]!.values.reduce((total: number, value) => total + (value ?? 0), 0)).toBe(79);
      const p95 = await store.series({ metric: "first_token_p95_ms", range }, nowMs);
      expect(p95.lines[0]!.values.some((value) => value !== null && value > 200)).toBe(true);

      const groups = await store.groups("goal", range, 3);
      expect(groups).toHaveLength(3);
      expect(groups.map(({ cost_nano_usd }) => cost_nano_usd)).toEqual(
        groups.map(({ cost_nano_usd }) => cost_nano_usd).toSorted((a, b) => b - a),
      );
      const even = await store.groups("session", range, 3);
      expect(even).toHaveLength(1);
      expect(even[0]).toMatchObject({
        key: "even",
        cost_nano_usd: sum(
          records.filter(({ session }) => session !== null),
          (it) => it.cost_nano_usd,
        ),
      });
    });

    test("sums goals and sessions over days and parts of days, corrections included", async () => {
      const records = Array.from({ length: 120 }, (_, n) =>
        record(n, {
          recorded_ms: startMs + n * hourMs + 1_000,
          cost_nano_usd: 10 ** (n % 7) + n,
          outcome: n % 6 === 0 ? "refused" : "answered",
          goal: n % 3 === 0 ? null : `g${n % 4}`,
          session: n % 2 === 0 ? `s${n % 3}` : null,
        }),
      );
      for (let at = 0; at < records.length; at += 17) await store.append(records.slice(at, at + 17));
      const corrected = records[40]!;
      const [attempt] = corrected.attempts;
      const cost = attempt!.cost_nano_usd! + 1_000_000_000;
      await store.correct([
        { decisionId: corrected.decision_id, attempt: attempt!.number, costNanoUsd: cost, state: "known" },
      ]);
      const all = records.map((each) =>
        each === corrected ? { ...each, cost_nano_usd: each.cost_nano_usd + 1_000_000_000 } : each,
      );
      for (const [from, to] of [
        [0, 120],
        [3, 119],
        [30, 50],
        [20, 24],
        [40, 41],
      ] as const) {
        const range = { fromMs: startMs + from * hourMs, toMs: startMs + to * hourMs };
        const within = all.filter(({ recorded_ms: at }) => at >= range.fromMs && at < range.toMs);
        for (const by of ["goal", "session"] as const) {
          const expected = [...Map.groupBy(within, (each) => each[by])]
            .filter(([key]) => key !== null)
            .map(([key, of]) => ({
              key: key!,
              requests: of.length,
              cost_nano_usd: of.reduce((sum, each) => sum + each.cost_nano_usd, 0),
              prompt_tokens: of.length * 100,
              refused: of.filter(({ outcome }) => outcome === "refused").length,
              last_ms: Math.max(...of.map(({ recorded_ms }) => recorded_ms)),
            }))
            .toSorted((a, b) => b.cost_nano_usd - a.cost_nano_usd);
          const groups = await store.groups(by, range, 100);
          expect(
            groups.map(({ key, requests, cost_nano_usd, prompt_tokens, refused, last_ms }) => ({
              key,
              requests,
              cost_nano_usd,
              prompt_tokens,
              refused,
              last_ms,
            })),
          ).toEqual(expected);
        }
      }
      await store.pruneOthers(startMs + 200 * hourMs, startMs + 200 * hourMs, noTasks);
      expect(await store.groups("session", { fromMs: 0, toMs: startMs + 200 * hourMs }, 9)).toEqual([]);
    });

    test("writes a batch that is larger than a block, in blocks that go on in the next one", async () => {
      const all = Array.from({ length: 400 }, (_, n) => record(n, { seq: record(0).seq + n }));
      await store.append(all.slice(0, 300));
      await store.append(all.slice(300));
      expect((await store.query({}, { limit: 500 })).records).toEqual(all.toReversed());
      expect((await store.size()).rows).toBe(400);
    });

    test("writes a batch completely or not at all", async () => {
      await store.append([record(1)]);
      // Two blocks; the second begins with a record that a block begins with already.
      const batch = [...Array.from({ length: 128 }, (_, n) => record(n + 2)), record(1)];
      const refused = await store.append(batch).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Error);
      expect(await ids({})).toEqual(["d1"]);
      expect((await store.summary({ fromMs: startMs, toMs: startMs + hourMs }, {}, startMs)).requests).toBe(1);
      expect((await store.size()).rows).toBe(1);
    });

    test("corrects a cost that the ledger learns later, with every sum, and a repeat changes nothing", async () => {
      const [attempt] = record(1).attempts;
      const open = record(1, {
        cost_nano_usd: 0,
        cost_state: "unknown",
        attempts: [{ ...attempt!, cost_nano_usd: null, cost_source: null }],
      });
      await store.append([open, record(2)]);
      const correction = { decisionId: "d1", attempt: attempt!.number, costNanoUsd: 555, state: "known" } as const;
      expect(await store.correct([correction])).toBe(1);
      expect(await store.correct([correction])).toBe(0);
      expect(await store.get("d1")).toMatchObject({
        cost_nano_usd: 555,
        cost_state: "known",
        attempts: [{ cost_nano_usd: 555 }],
      });
      const summary = await store.summary({ fromMs: startMs, toMs: startMs + hourMs }, {}, startMs);
      expect(summary).toMatchObject({ cost_nano_usd: 40_555, cost_unknown: 0 });
      const [goal] = await store.groups("goal", { fromMs: startMs, toMs: startMs + hourMs }, 1);
      expect(goal?.cost_nano_usd).toBe(40_555);
      expect((await store.query({ costState: ["unknown"] }, { limit: 9 })).records).toEqual([]);
      expect(await store.correct([{ ...correction, decisionId: "nobody" }])).toBe(0);
    });

    test("corrects a cost once if two nodes learn it at the same time", async () => {
      const [attempt] = record(1).attempts;
      const attempts = [{ ...attempt!, cost_nano_usd: null, cost_source: null }];
      await store.append([record(1, { cost_nano_usd: 0, cost_state: "unknown", attempts })]);
      const correction = { decisionId: "d1", attempt: attempt!.number, costNanoUsd: 555, state: "known" } as const;
      const written = await Promise.all([store.correct([correction]), store.correct([correction])]);
      expect(written.toSorted()).toEqual([0, 1]);
      expect(await store.get("d1")).toMatchObject({ cost_nano_usd: 555, cost_state: "known" });
      const summary = await store.summary({ fromMs: startMs, toMs: startMs + hourMs }, {}, startMs);
      expect(summary).toMatchObject({ cost_nano_usd: 555, cost_unknown: 0 });
    });

    test("deletes the oldest in chunks, by age or by size, and counts the rest", async () => {
      for (let batch = 0; batch < 10; batch++) {
        const recorded_ms = startMs + batch * 20 * minuteMs;
        await store.append(
          Array.from({ length: 20 }, (_, n) =>
            record(n, { decision_id: `${batch}.${n}`, recorded_ms, seq: recorded_ms * 1024 + n }),
          ),
        );
      }
      const before = await store.size();
      expect(before.rows).toBe(200);
      expect(before.bytes).toBeGreaterThan(200 * 30);
      // A block is deleted once the last of its records is old enough.
      expect(await store.prune(startMs + 20 * minuteMs, Number.MAX_SAFE_INTEGER)).toBe(0);
      expect(await store.prune(startMs + 61 * minuteMs, Number.MAX_SAFE_INTEGER)).toBe(60);
      expect(await store.prune(startMs + 61 * minuteMs, Number.MAX_SAFE_INTEGER)).toBe(0);
      expect(await ids({ toMs: startMs + 60 * minuteMs })).toEqual([]);
      expect((await store.size()).rows).toBe(140);
      expect(await store.prune(0, (await store.size()).bytes - 1)).toBe(60);
      while ((await store.prune(0, 0)) > 0);
      expect(await store.size()).toEqual({ rows: 0, bytes: 0 });
      // The sums of deleted records stay.
      expect((await store.summary({ fromMs: startMs, toMs: startMs + 4 * hourMs }, {}, startMs)).requests).toBe(200);
      await store.pruneOthers(startMs, startMs + 500 * 24 * hourMs, noTasks);
      expect((await store.summary({ fromMs: startMs, toMs: startMs + 4 * hourMs }, {}, startMs)).requests).toBe(0);
    });

    test("stores each configuration once, until no record can refer to it", async () => {
      await store.saveConfig({ hash: "a", atMs: 1, config: "{}" });
      await store.saveConfig({ hash: "b", atMs: 2, config: '{"it": "o\'b"}' });
      await store.saveConfig({ hash: "b", atMs: 3, config: "ignored" });
      expect(await store.config("b")).toBe('{"it": "o\'b"}');
      await store.pruneOthers(10, 10, noTasks);
      expect(await store.config("a")).toBeUndefined();
      expect(await store.config("b")).toBeDefined();
    });
  });
}
