import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { reservationIdOf } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import { runCommand } from "../harness/command-line.ts";

const clock = { now: () => Date.now(), monotonic: () => performance.now() };

const aReservation = (requestId: string, goal: string) => ({
  id: reservationIdOf(requestId, 1),
  goal,
  modelKey: "m",
  amount: nanoUsd(1_000_000_000),
  perGoalHard: nanoUsd(5_000_000_000),
  perDayHard: nanoUsd(50_000_000_000),
  deadlineMs: 60_000,
});

describe("smart-gateway budgets", () => {
  let folder: string;
  let url: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "smart-gateway-budgets-"));
    url = `sqlite:${join(folder, "gateway.db")}`;
    const ledger = await openLedger(url, { nodeId: "test", clock });
    for (const [requestId, goal] of Object.entries({ a: "s/one", b: "s/two", c: "s/two" }))
      await ledger.reserve(aReservation(requestId, goal));
    await ledger.resolve([{ id: "a.1", kind: "settled", actual: nanoUsd(250_000_000), source: "usage" }]);
    await ledger.close(1_000);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const budgets = (...args: string[]) => runCommand(["budgets", ...args], { env: { DATABASE_URL: url } });

  test("show prints caps, spent, held and left, the day first", async () => {
    const { code, out } = await budgets("show", "--json");
    expect(code).toBe(0);
    const { days, goals, more } = JSON.parse(out);
    expect([more, days.length, goals.length]).toEqual([0, 1, 2]);
    expect(days[0]).toMatchObject({
      spent_nano_usd: 250_000_000,
      held_nano_usd: 2_000_000_000,
      hard_nano_usd: 50_000_000_000,
      left_nano_usd: 47_750_000_000,
    });
    expect(goals[0]).toMatchObject({
      account: "goal/s/two",
      spent_nano_usd: 0,
      held_nano_usd: 2_000_000_000,
      left_nano_usd: 3_000_000_000,
      cap_from: "policy",
    });
    expect((await budgets("show")).out).toContain("goal/s/one");
  });

  test("audit proves that the ledger balances, and fails if it does not", async () => {
    expect(await budgets("audit")).toMatchObject({ code: 0, out: expect.stringContaining("The ledger balances.") });
    const db = new Database(join(folder, "gateway.db"));
    db.run("UPDATE account SET spent = spent + 1 WHERE id = 'goal/s/one'");
    db.run("UPDATE account SET held = held - 1 WHERE id = 'goal/s/two'");
    db.run("DELETE FROM ledger_batch WHERE seq IN (SELECT seq FROM ledger_entry WHERE reservation_id = 'c.1')");
    db.close();
    const { code, out } = await budgets("audit", "--json");
    expect(code).toBe(1);
    const found = JSON.parse(out).findings.map(({ check, id }: { check: string; id: string }) => `${check} ${id}`);
    expect(found).toContain("counters_differ_from_reservations goal/s/one");
    expect(found).toContain("counters_differ_from_reservations goal/s/two");
    expect(found).toContain("counters_differ_from_entries goal/s/one");
    expect(found).toContain("reservation_differs_from_entries c.1");
  });

  test("set stores a cap that a running gateway applies, and clear restores the policy's", async () => {
    const ledger = await openLedger(url, { nodeId: "test", clock });
    const reserve = (requestId: string) => ledger.reserve(aReservation(requestId, "s/one"));
    expect((await budgets("set", "--goal", "s/one", "--hard-usd", "1.2")).code).toBe(0);
    expect(await reserve("first")).toMatchObject({ kind: "refused", binding: "goal", hard: nanoUsd(1_200_000_000) });
    expect((await budgets("set", "--goal", "s/one", "--clear")).code).toBe(0);
    expect((await reserve("second")).kind).toBe("held");
    expect((await budgets("set", "--day", "today", "--hard-usd", "0.1")).code).toBe(0);
    expect(await reserve("third")).toMatchObject({ kind: "refused", binding: "day" });
    await ledger.close(1_000);
  });
});
