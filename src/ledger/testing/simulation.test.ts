import { describe, expect, test } from "bun:test";
import { simulate } from "./simulation.ts";

/**
 * `LEDGER_SEEDS=100000` runs that many histories; `LEDGER_SEED=4711` one, again. Without either 200 (with `npm run test:long`
 * 20,000), a different part of the seeds each hour so that many runs see many histories.
 */
const one = process.env["LEDGER_SEED"] || undefined;
const many = process.env["LEDGER_SEEDS"] || undefined;
const isLong = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";

describe("the ledger under faults", () => {
  test("one seed gives one history, so a failing seed can be run again", async () => {
    expect(await simulate(42)).toEqual(await simulate(42));
    expect(await simulate(42)).not.toEqual(await simulate(43));
  });

  test("a server that is lost moments after a node has joined it: the others wait for that node", async () => {
    await simulate(2_001_688);
  });

  test(
    "never overspends, loses, double-counts or refuses without need, whatever fails when",
    async () => {
      const first = one === undefined ? Math.floor(Date.now() / 3_600_000) * 100_000 : Number(one);
      const wanted = one === undefined ? Number(many ?? (isLong ? 20_000 : 200)) : 1;
      const totals = {
        held: 0,
        refused: 0,
        refusedByRead: 0,
        unavailable: 0,
        crashes: 0,
        lostReplies: 0,
        failOvers: 0,
        lostHolds: 0,
        restored: 0,
        silent: 0,
        billed: 0,
        spent: 0,
      };
      let seeds = 0;
      while (seeds < wanted) {
        const report = await simulate(first + seeds);
        seeds += 1;
        for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += report[key];
      }
      // biome-ignore lint/suspicious/noConsole: each run prints its figures, and the seeds to run it again
      console.log(`ledger simulation: ${seeds} seeds from ${first}`, totals);
      expect(totals.billed).toBeLessThanOrEqual(totals.spent);
      if (one !== undefined) return;
      // A simulation without enough events proves nothing.
      for (const count of Object.values(totals)) expect(count).toBeGreaterThan(0);
    },
    { timeout: many === undefined && !isLong ? 300_000 : 0 },
  );
});
