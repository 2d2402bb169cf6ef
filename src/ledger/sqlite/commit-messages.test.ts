import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { audit } from "#ledger/admin/audit.ts";
import type { ActualSource, Resolution } from "#ledger/ledger.ts";
import { MemoryStore } from "#ledger/memory/memory-store.ts";
import type { LedgerBatch, Operation } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { decodeBatch, decodeReply, encodeBatch, encodeReply } from "./commit-messages.ts";
import { SqliteEngine } from "./sqlite-engine.ts";

const startMs = Date.UTC(2026, 0, 15, 12);

/** Batches of every kind of operation, in any order, usual and unusual ones; caps are low, so that some are refused. */
class RandomBatches {
  readonly #random: () => number;
  readonly #ids: { readonly requestId: string; readonly attempt: number }[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  next(node: NodeIdentity): LedgerBatch {
    return { node, operations: Array.from({ length: 1 + this.below(40) }, () => this.#operation()) };
  }

  #pick<T>(...values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0];
  }

  #operation(): Operation {
    const known = this.#ids[Math.max(0, this.#ids.length - 1 - this.below(60))];
    const id = known === undefined || this.below(40) === 0 ? "absent.1" : `${known.requestId}.${known.attempt}`;
    switch (this.below(12)) {
      case 0:
        return { kind: this.#pick("cancel", "expire", "orphan"), id };
      case 1:
      case 2:
      case 3:
      case 4:
        return { kind: "resolve", resolution: this.#resolution(id) };
      default:
        return this.#reserve(known);
    }
  }

  #resolution(id: string): Resolution {
    const ends: readonly Resolution[] = [
      { id, kind: "released", reason: "connect failed" },
      { id, kind: "released", reason: "invoice", source: "operator" },
      { id, kind: "unknown", reason: "reset", generationId: "gen-1" },
      { id, kind: "charged", reason: "r".repeat(300), distrusted: nanoUsd(90_000) },
      { id, kind: "settled", actual: nanoUsd(5), source: "at_least", reason: "shown", generationId: "gen-2" },
    ];
    const source = this.#pick<ActualSource>("upstream_cost", "usage", "at_least");
    return ends[this.below(20)] ?? { id, kind: "settled", actual: nanoUsd(this.below(120)), source };
  }

  #reserve(known: { readonly requestId: string; readonly attempt: number } | undefined): Operation {
    const again = known !== undefined && this.below(10) === 0;
    const { requestId, attempt } = again
      ? { requestId: known.requestId, attempt: known.attempt + this.below(2) }
      : { requestId: `request.${this.#ids.length}"é`, attempt: 1 + this.below(12) };
    this.#ids.push({ requestId, attempt });
    return {
      kind: "reserve",
      reservation: {
        id: this.below(30) === 0 ? `${requestId}.0${attempt}` : `${requestId}.${attempt}`,
        requestId,
        attempt,
        goal: this.#pick("adhoc", "session/goal", "session/\u{1F600}", "sha256:no"),
        modelKey: this.#pick("one", "two"),
        amount: nanoUsd(1 + this.below(99)),
        perGoalHard: nanoUsd(this.#pick(900, 2_000, 4_000)),
        perDayHard: nanoUsd(9_000),
        deadlineMs: this.#pick(600_000, 600_000, 1),
        ...(this.below(20) === 0 ? {} : { priceVersion: this.below(60) === 0 ? "b" : "a" }),
      },
    };
  }
}

describe("batches to the ledger's thread", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "smart-gateway-ledger-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test.each([1, 2, 3, 4, 5, 6])(
    "are decided, answered and written as in memory, by two processes: seed %i",
    async (seed) => {
      const path = join(folder, "gateway.db");
      let nowMs = startMs;
      const memory = new MemoryStore({ now: () => nowMs, monotonic: () => nowMs });
      const engines = [new SqliteEngine(path), new SqliteEngine(path)] as const;
      const nodes = engines.map((engine, index) => engine.join(`node-${index}`, nowMs));
      for (const { id } of nodes) await memory.join(id);
      const capped = new Database(path);
      const batches = new RandomBatches(seed);
      let settled = 0;
      for (let round = 0; round < 120; round++) {
        nowMs += batches.below(40_000);
        if (round === 60) {
          // An operator's own cap, while the gateways run.
          capped.run("UPDATE account SET own_hard = 5000 WHERE id = 'goal/session/goal'");
          memory.setCap("goal/session/goal", 5_000);
        }
        const index = batches.below(2);
        const node = nodes[index];
        if (node === undefined) throw new Error("no such node");
        const batch = batches.next(node);
        const received = decodeBatch(JSON.parse(encodeBatch(round, batch, nowMs)));
        expect(received).toEqual({ id: round, batch, nowMs });
        const engine = index === 0 ? engines[0] : engines[1];
        const answer = JSON.parse(encodeReply(round, received.batch, engine.commit(received.batch, received.nowMs)));
        expect(answer[0]).toBe(round);
        const reply = decodeReply(answer, batch);
        expect(reply).toEqual(memory.commitNow(batch));
        settled += reply.notices.filter((notice) => notice.kind === "resolved" && notice.state === "SETTLED").length;
      }
      expect(settled).toBeGreaterThan(50);
      for (const engine of engines) engine.close();
      const rowsOf = (sql: string) => capped.query<Record<string, unknown>, []>(sql).all();
      expect(
        rowsOf(`SELECT id, goal_account AS goalAccount, day_account AS dayAccount, hold, actual, source,
        state, model, node_id AS nodeId, node_epoch AS nodeEpoch, dispatched = 1 AS dispatched, created_ms AS createdMs,
        expires_ms AS expiresMs, closed_ms AS closedMs FROM reservation ORDER BY seq`),
      ).toEqual([...memory.reservations.values()].map(({ requestId, attempt, ...row }) => ({ ...row, dispatched: 1 })));
      // In their order for each reservation, from the newest back along the chain.
      const chained = rowsOf(`WITH RECURSIVE chain (seq, reservation, batch) AS (
        SELECT seq, id, last_entry FROM reservation
        UNION SELECT chain.seq, chain.reservation, e.previous
        FROM chain JOIN ledger_entry e ON e.seq = chain.batch AND e.reservation_id = chain.reservation WHERE e.previous IS NOT NULL)
      SELECT e.reservation_id AS reservationId, e.event, e.held, e.spent, e.overrun, e.reason, e.node_id AS nodeId, e.at_ms AS atMs
      FROM chain JOIN ledger_entry e ON e.seq = chain.batch AND e.reservation_id = chain.reservation
      ORDER BY chain.seq, e.seq, e.place`);
      const byReservation = Map.groupBy(memory.entries, ({ reservationId }) => reservationId);
      expect(chained).toEqual([...memory.reservations.keys()].flatMap((id) => byReservation.get(id) ?? []) as never);
      expect((await audit(async (sql) => rowsOf(sql), nowMs)).findings).toEqual([]);
      capped.close();
    },
  );

  test("are half as long as JSON of their objects", () => {
    const reserve = (requestId: string): Operation => ({
      kind: "reserve",
      reservation: {
        id: `${requestId}.1`,
        requestId,
        attempt: 1,
        goal: "adhoc",
        modelKey: "vendor_v4_flash",
        amount: nanoUsd(1_000_000),
        priceVersion: "abcdef12",
        perGoalHard: nanoUsd(10_000_000_000),
        perDayHard: nanoUsd(50_000_000_000),
        deadlineMs: 600_000,
      },
    });
    const operations: Operation[] = Array.from({ length: 16 }, (_, index) => [
      {
        kind: "resolve",
        resolution: { id: `0199a1b2-c3d4-7e5f-8a6b-${index}`, kind: "settled", actual: nanoUsd(5), source: "usage" },
      } as const,
      reserve(`0199a1b2-c3d4-7e5f-8a6b-${index}`),
    ]).flat();
    const batch = { node: { id: "node", epoch: 1 }, operations };
    expect(encodeBatch(1, batch, startMs).length).toBeLessThan(JSON.stringify(batch).length / 2);
  });
});
