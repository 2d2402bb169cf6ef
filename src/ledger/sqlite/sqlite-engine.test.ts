import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteMigrations } from "#db/migrations.ts";
import { openSqlite } from "#db/sqlite.ts";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { audit } from "#ledger/admin/audit.ts";
import type { Operation, OperationReply } from "#ledger/rules/operations.ts";
import { reservationOf } from "#ledger/testing/ledger.contract.ts";
import { SqliteEngine } from "./sqlite-engine.ts";

const now = Date.UTC(2026, 0, 15, 12);
const dayMs = 86_400_000;

describe("the ledger in an SQLite file", () => {
  let folder: string;
  let path: string;
  const opened: SqliteEngine[] = [];
  const open = () => {
    const engine = new SqliteEngine(path);
    opened.push(engine);
    const node = engine.join(`node-${opened.length}`, now);
    return {
      engine,
      say: (...operations: Operation[]): OperationReply["kind"][] =>
        engine.commit({ node, operations }, now).replies.map(({ kind }) => kind),
    };
  };
  const inspect = async () => {
    const db = new Database(path, { readonly: true });
    const report = await audit(async (sql) => db.query<Record<string, unknown>, []>(sql).all(), now);
    db.close();
    return report;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "smart-gateway-ledger-"));
    path = join(folder, "gateway.db");
  });
  afterEach(() => {
    for (const engine of opened.splice(0)) engine.close();
    rmSync(folder, { recursive: true });
  });

  const reserve = (amount: number): Extract<Operation, { kind: "reserve" }> => ({
    kind: "reserve",
    reservation: reservationOf({ amount: nanoUsd(amount) }),
  });
  const settle = (id: string, actual: number): Operation => ({
    id,
    kind: "settled",
    actual: nanoUsd(actual),
    source: "usage",
  });

  test("are never decided from a batch that could not be written", async () => {
    const { say } = open();
    const first = reserve(600);
    expect(say(first)).toEqual(["held"]);
    const lost = reserve(100);
    const refused = reservationOf({ amount: -1 as NanoUsd }); // By the table.
    const batch = [settle(first.reservation.id, 5), lost, { kind: "reserve", reservation: refused } as const];
    expect(() => say(...batch)).toThrow("CHECK");
    expect(say(lost)).toEqual(["held"]);
    expect(say(settle(lost.reservation.id, 100), reserve(301))).toEqual(["done", "refused"]);
    expect(say(settle(first.reservation.id, 100), reserve(800))).toEqual(["done", "held"]);
    expect((await inspect()).findings).toEqual([]);
  });

  test("are decided from what another connection has written since the batch before", async () => {
    const [one, other] = [open(), open()];
    const first = reserve(600);
    expect(one.say(first)).toEqual(["held"]);
    expect(other.say(settle(first.reservation.id, 100), reserve(500))).toEqual(["done", "held"]);
    expect(one.say(settle(first.reservation.id, 600), reserve(401))).toEqual(["done", "refused"]);
    expect(one.say(reserve(400))).toEqual(["held"]);
    expect((await inspect()).findings).toEqual([]);
  });

  const accountsOf = `INSERT INTO account (id, held, spent) VALUES ('goal/session/goal', 7, 45), ('day/2026-01-14', 7, 45);
      INSERT INTO ledger_day VALUES (1, '2026-01-14');`;
  const rows = `INSERT INTO reservation VALUES
        ('b.1', 'b', 1, 'goal/session/goal', 'day/2026-01-14', 50, 45, 'usage', 'CORRECTED', 'm', 'n', 1, 1, 5, 500, 700),
        ('a.1', 'a', 1, 'goal/session/goal', 'day/2026-01-14', 7, NULL, NULL, 'UNRESOLVED', 'm', 'n', 1, 1, 6, 9000000000000, NULL);
      INSERT INTO ledger_entry VALUES
        ('b.1', 'admitted', 50, 0, 0, 'dispatched', 'n', 5), ('b.1', 'unresolved', 0, 0, 0, 'reset', 'n', 5),
        ('b.1', 'expired_charged', -50, 50, 0, 'deadline', 'n', 600), ('b.1', 'corrected', 0, -5, 0, 'usage', 'n', 700),
        ('a.1', 'admitted', 7, 0, 0, 'dispatched', 'n', 6), ('a.1', 'unresolved', 0, 0, 0, 'reset', 'n', 8);`;
  test("of the first release are kept: every row, every entry, and retention", async () => {
    const before = openSqlite(
      path,
      sqliteMigrations.filter(({ version }) => version < 2),
    );
    before.run(`${accountsOf} ${rows}`);
    before.close();
    const { engine, say } = open();
    expect(await inspect()).toMatchObject({ reservations: 2, open: 1, entries: 6, findings: [] });
    const db = new Database(path, { readonly: true });
    expect(db.query("SELECT event, reason, at_ms FROM ledger_entry WHERE reservation_id = 'b.1'").values()).toEqual([
      ["admitted", "dispatched", 5],
      ["unresolved", "reset", 5],
      ["expired_charged", "deadline", 600],
      ["corrected", "usage", 700],
    ]);
    db.close();
    // A corrected cost stays; both parts of an id are found again in it.
    expect(say(settle("a.1", 6), settle("b.1", 45))).toEqual(["done", "done"]);
    expect(engine.prune(30 * dayMs, 500, now)).toBe(1);
    expect(await inspect()).toMatchObject({ reservations: 1, open: 0, entries: 3, findings: [] });
    expect(engine.prune(30 * dayMs, 500, now + 31 * dayMs)).toBe(1);
    expect(await inspect()).toMatchObject({ reservations: 0, entries: 0, findings: [] });
  });
});
