import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { maxUsd, type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { BatchedLedger, BatchedLedgerOptions } from "#ledger/batched-ledger.ts";
import { adhocGoal, type Reservation, reservationIdOf } from "#ledger/ledger.ts";
import { processTimers } from "#ledger/open-ledger.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { type Clock, type Timers, utcDayOf } from "#platform/time.ts";

/** What every form of the ledger must do; run by each form's own test file. */

export interface LedgerFixture {
  /** Opens a node over the same store; several may be open at once. */
  open(nodeId: string, log?: (event: LedgerEvent) => void): Promise<BatchedLedger>;
  /** The store's clock; advancing it advances deadlines and days. */
  readonly clock: ManualClock;
  /** The findings of an audit. */
  audit(): Promise<readonly string[]>;
  /** The operator's own cap, `goal/…` or `day/…`. */
  setCap(account: string, hard: NanoUsd | null): Promise<void>;
  close(): Promise<void>;
}

/** Wall-clock time that tests move; the monotonic clock is the real one. */
export class ManualClock implements Clock {
  offsetMs = 0;

  now(): number {
    return Date.now() + this.offsetMs;
  }

  monotonic(): number {
    return performance.now();
  }

  /** Moves to a moment of the UTC day that the clock shows. */
  moveTo(hours: number, minutes: number, seconds = 0): void {
    const midnight = Math.floor(this.now() / 86_400_000) * 86_400_000;
    this.offsetMs += midnight + ((hours * 60 + minutes) * 60 + seconds) * 1_000 - this.now();
  }
}

/** Options of a node in tests: real timers, retention of 30 days. */
export function nodeOptions(clock: Clock, log: (event: LedgerEvent) => void = () => {}): BatchedLedgerOptions {
  return { clock, timers: processTimers, random: Math.random, log, retentionMs: () => 30 * 86_400_000 };
}

/** Options of a node whose time the test moves; nothing is kept. */
export function manualNodeOptions({ clock, timers }: { clock: Clock; timers: Timers }): BatchedLedgerOptions {
  return { clock, timers, random: () => 0.5, log: () => {}, retentionMs: () => 0 };
}

let made = 0;

export function reservationOf(fields: Partial<Reservation> & { amount: NanoUsd }): Reservation {
  made += 1;
  return {
    id: reservationIdOf(`req-${made}-${Math.random().toString(36).slice(2)}`, 1),
    goal: "session/goal",
    modelKey: "vendor_v4_flash",
    perGoalHard: nanoUsd(1_000),
    perDayHard: nanoUsd(10_000),
    deadlineMs: 600_000,
    ...fields,
  };
}

const usd = nanoUsd;
const cost = (id: string, actual: number) =>
  ({ id, kind: "settled", actual: usd(actual), source: "upstream_cost" }) as const;

export function ledgerContract(form: string, makeFixture: () => Promise<LedgerFixture>): void {
  describe(`the ${form} ledger`, () => {
    let fixture: LedgerFixture;
    let ledger: BatchedLedger;
    let events: LedgerEvent[];
    const opened: BatchedLedger[] = [];

    async function open(nodeId: string): Promise<BatchedLedger> {
      const node = await fixture.open(nodeId, (event) => events.push(event));
      opened.push(node);
      return node;
    }

    beforeEach(async () => {
      fixture = await makeFixture();
      // Noon, so that no test runs across midnight by chance.
      fixture.clock.moveTo(12, 0);
      events = [];
      ledger = await open("node-a");
    });

    afterEach(async () => {
      try {
        expect(await fixture.audit()).toEqual([]);
      } finally {
        for (const node of opened.splice(0)) await node.close(1_000);
        await fixture.close();
      }
    });

    const spendOf = async (goal = "session/goal") => {
      const spend = await ledger.read(goal);
      if (spend === undefined) throw new Error("the store did not answer");
      return spend;
    };
    const counters = async (goal?: string) => {
      const { goalAccount, dayAccount } = await spendOf(goal);
      return { goal: [goalAccount.spent, goalAccount.held], day: [dayAccount.spent, dayAccount.held] } as unknown;
    };
    const both = (spent: number, held: number) => ({ goal: [spent, held], day: [spent, held] });

    describe("holding", () => {
      test("takes the amount from the goal and from the day", async () => {
        const reply = await ledger.reserve(reservationOf({ amount: usd(300) }));
        expect(reply.kind).toBe("held");
        expect(await counters()).toEqual(both(0, 300));
      });

      test("fills a cap to the last nano-dollar and refuses the next one", async () => {
        expect((await ledger.reserve(reservationOf({ amount: usd(1_000) }))).kind).toBe("held");
        const refused = await ledger.reserve(reservationOf({ amount: usd(1) }));
        expect(refused).toMatchObject({ kind: "refused", binding: "goal", hard: usd(1_000) });
      });

      test("holds nothing if one of the two caps refuses", async () => {
        const reply = await ledger.reserve(reservationOf({ amount: usd(500), perDayHard: usd(499) }));
        expect(reply).toMatchObject({ kind: "refused", binding: "day", hard: usd(499) });
        expect(await counters()).toEqual(both(0, 0));
      });

      test("never holds more than the cap, however many ask at once, from however many nodes", async () => {
        const nodes = [ledger, await open("node-b"), await open("node-c")];
        const asked = Array.from({ length: 150 }, (_, i) =>
          nodes[i % 3]!.reserve(reservationOf({ amount: usd(7), goal: `g${i % 4}`, perDayHard: usd(400) })),
        );
        const replies = await Promise.all(asked);
        expect(replies.filter(({ kind }) => kind === "held")).toHaveLength(57); // 57 × 7 = 399
        expect(replies.filter(({ kind }) => kind === "refused")).toHaveLength(93);
        expect((await spendOf()).dayAccount).toEqual({ spent: usd(0), held: usd(399) });
      });

      test("the same reservation twice is held once, and both callers are answered that it is held", async () => {
        const reservation = reservationOf({ amount: usd(300) });
        const [first, second] = await Promise.all([ledger.reserve(reservation), ledger.reserve(reservation)]);
        expect([first.kind, second.kind, (await ledger.reserve(reservation)).kind]).toEqual(["held", "held", "held"]);
        expect(await counters()).toEqual(both(0, 300));
      });

      test("an id that was used with other numbers is not admitted again", async () => {
        const reservation = reservationOf({ amount: usd(300) });
        await ledger.reserve(reservation);
        expect((await ledger.reserve({ ...reservation, amount: usd(301) })).kind).toBe("unavailable");
        expect(await counters()).toEqual(both(0, 300));
      });

      test.each([20, 1_000])(
        "an id whose reservation is closed is not admitted again, at a cost of %d",
        async (actual) => {
          const reservation = reservationOf({ amount: usd(1_000) });
          await ledger.reserve(reservation);
          await ledger.resolve([cost(reservation.id, actual)]);
          expect((await ledger.reserve(reservation)).kind).toBe("unavailable");
          expect(await counters()).toEqual(both(actual, 0));
        },
      );
    });

    describe("refusing", () => {
      test("says that waiting helps if running holds take the money", async () => {
        await ledger.reserve(reservationOf({ amount: usd(900) }));
        const refused = await ledger.reserve(reservationOf({ amount: usd(200) }));
        if (refused.kind !== "refused") throw new Error(refused.kind);
        expect(refused.retryAfterMs).toBeGreaterThanOrEqual(1_000);
        expect(refused.spend.goalAccount).toEqual({ spent: usd(0), held: usd(900) });
      });

      test("does not say so if the money is spent", async () => {
        const reservation = reservationOf({ amount: usd(900) });
        await ledger.reserve(reservation);
        await ledger.resolve([cost(reservation.id, 900)]);
        const refused = await ledger.reserve(reservationOf({ amount: usd(200) }));
        expect(refused.kind).toBe("refused");
        expect("retryAfterMs" in refused).toBe(false);
      });

      test("does not say so if the amount is above the whole cap", async () => {
        await ledger.reserve(reservationOf({ amount: usd(10) }));
        expect("retryAfterMs" in (await ledger.reserve(reservationOf({ amount: usd(1_001) })))).toBe(false);
      });

      test("leaves no trace: the same reservation is held once there is room", async () => {
        const first = reservationOf({ amount: usd(900) });
        const second = reservationOf({ amount: usd(200) });
        await ledger.reserve(first);
        expect((await ledger.reserve(second)).kind).toBe("refused");
        await ledger.resolve([{ id: first.id, kind: "released", reason: "rejected" }]);
        expect((await ledger.reserve(second)).kind).toBe("held");
        expect(await counters()).toEqual(both(0, 200));
      });

      test("names the cap with the least room", async () => {
        const reply = await ledger.reserve(
          reservationOf({ amount: usd(500), perGoalHard: usd(400), perDayHard: usd(300) }),
        );
        expect(reply).toMatchObject({ kind: "refused", binding: "day", hard: usd(300) });
      });
    });

    describe("resolving", () => {
      const held = async (amount = 300, fields: Partial<Reservation> = {}) => {
        const reservation = reservationOf({ amount: usd(amount), ...fields });
        expect((await ledger.reserve(reservation)).kind).toBe("held");
        return reservation.id;
      };

      test("a known cost is charged and the rest of the hold released", async () => {
        await ledger.resolve([cost(await held(), 120)]);
        expect(await counters()).toEqual(both(120, 0));
      });

      test("the hold of a call that was never billed is released in full", async () => {
        await ledger.resolve([{ id: await held(), kind: "released", reason: "connect failed" }]);
        expect(await counters()).toEqual(both(0, 0));
      });

      test("an unknown outcome stays held", async () => {
        await ledger.resolve([{ id: await held(), kind: "unknown", reason: "reset after dispatch" }]);
        expect(await counters()).toEqual(both(0, 300));
      });

      test("an unknown outcome that becomes known is charged its cost", async () => {
        const id = await held();
        await ledger.resolve([{ id, kind: "unknown", reason: "timed out" }]);
        await ledger.resolve([cost(id, 50)]);
        expect(await counters()).toEqual(both(50, 0));
      });

      test("an outcome that stays unknown is charged its hold", async () => {
        await ledger.resolve([{ id: await held(), kind: "charged", reason: "caller left" }]);
        expect(await counters()).toEqual(both(300, 0));
      });

      test("a cost above the hold is charged in full and reported", async () => {
        const id = await held(300);
        await ledger.resolve([cost(id, 450)]);
        expect(await counters()).toEqual(both(450, 0));
        expect(events).toContainEqual(expect.objectContaining({ kind: "overrun", id, hold: 300, actual: 450 }));
      });

      test("costs with a sum beyond the countable range fill the accounts, and nothing fails", async () => {
        const absurd = 9_000_000_000_000_000;
        const ids = [await held(10), await held(10), await held(10), await held(10)] as const;
        await ledger.resolve(ids.slice(0, 3).map((id) => cost(id, absurd)));
        expect(await counters()).toEqual(both(maxUsd - 10, 10));
        expect((await ledger.reserve(reservationOf({ amount: usd(1) }))).kind).toBe("refused");
        await ledger.resolve([cost(ids[3], 3)]);
        expect(await counters()).toEqual(both(maxUsd - 7, 0));
      });

      test("after an overrun beyond the cap nothing more is admitted, and the ledger still balances", async () => {
        await ledger.resolve([cost(await held(1_000), 1_500)]);
        expect((await ledger.reserve(reservationOf({ amount: usd(1) }))).kind).toBe("refused");
      });

      test("a repeated resolution changes nothing", async () => {
        const id = await held();
        await Promise.all([ledger.resolve([cost(id, 120)]), ledger.resolve([cost(id, 120), cost(id, 120)])]);
        await ledger.resolve([cost(id, 120)]);
        expect(await counters()).toEqual(both(120, 0));
        expect(events.filter(({ kind }) => kind === "ignored")).toEqual([]);
      });

      test("a different later resolution is ignored and reported", async () => {
        const id = await held();
        await ledger.resolve([cost(id, 120)]);
        await ledger.resolve([cost(id, 90)]);
        await ledger.resolve([{ id, kind: "released", reason: "changed my mind" }]);
        expect(await counters()).toEqual(both(120, 0));
        expect(events.filter(({ kind }) => kind === "ignored")).toHaveLength(2);
      });

      test("a released hold is never held again", async () => {
        const id = await held();
        await ledger.resolve([{ id, kind: "released", reason: "rejected" }]);
        await ledger.resolve([{ id, kind: "unknown", reason: "?" }]);
        await ledger.resolve([{ id, kind: "charged", reason: "?" }]);
        await ledger.resolve([cost(id, 5)]);
        expect(await counters()).toEqual(both(0, 0));
      });

      test("a resolution of an unknown reservation is reported, and does not affect others", async () => {
        const id = await held();
        await ledger.resolve([cost("nobody-made-me", 5), cost(id, 120)]);
        expect(await counters()).toEqual(both(120, 0));
        expect(events).toContainEqual(expect.objectContaining({ kind: "ignored", id: "nobody-made-me" }));
      });

      test("another node may send the resolution", async () => {
        const id = await held();
        const other = await open("node-b");
        await other.resolve([cost(id, 120)]);
        expect(await counters()).toEqual(both(120, 0));
      });

      test("more resolutions than fit in a batch are all written", async () => {
        const ids = await Promise.all(Array.from({ length: 700 }, () => held(1)));
        await ledger.resolve(ids.map((id) => cost(id, 1)));
        expect(await counters()).toEqual(both(700, 0));
      });
    });

    describe("a retry", () => {
      test("closes the failed attempt and holds for the next in one step, even if there is room for only one", async () => {
        const first = reservationOf({ amount: usd(800) });
        const second = reservationOf({ amount: usd(900) });
        await ledger.reserve(first);
        const reply = await ledger.reserve(second, [{ id: first.id, kind: "released", reason: "rate_limited" }]);
        expect(reply.kind).toBe("held");
        expect(await counters()).toEqual(both(0, 900));
      });

      test("keeps the hold of an attempt whose outcome is unknown", async () => {
        const first = reservationOf({ amount: usd(800) });
        const second = reservationOf({ amount: usd(900) });
        await ledger.reserve(first);
        const reply = await ledger.reserve(second, [{ id: first.id, kind: "unknown", reason: "timed_out" }]);
        expect(reply.kind).toBe("refused");
        expect(await counters()).toEqual(both(0, 800));
      });

      test("that is refused still closes the attempt before it", async () => {
        const first = reservationOf({ amount: usd(800) });
        await ledger.reserve(first);
        const reply = await ledger.reserve(reservationOf({ amount: usd(999) }), [cost(first.id, 100)]);
        expect(reply).toMatchObject({ kind: "refused" });
        expect(await counters()).toEqual(both(100, 0));
      });
    });

    describe("time", () => {
      test("a hold whose deadline and grace have passed is charged in full, of unknown outcome too", async () => {
        const reservations = [200, 100].map((amount) => reservationOf({ amount: usd(amount), deadlineMs: 10_000 }));
        for (const reservation of reservations) await ledger.reserve(reservation);
        await ledger.resolve([{ id: reservations[0]!.id, kind: "unknown", reason: "reset" }]);
        fixture.clock.offsetMs += 69_000;
        await ledger.jobs.sweep();
        expect(await counters()).toEqual(both(0, 300));
        fixture.clock.offsetMs += 2_000;
        await ledger.jobs.sweep();
        expect(await counters()).toEqual(both(300, 0));
      });

      test("a cost that arrives after the charge corrects it, once", async () => {
        const reservation = reservationOf({ amount: usd(300), deadlineMs: 0 });
        await ledger.reserve(reservation);
        fixture.clock.offsetMs += 61_000;
        await ledger.jobs.sweep();
        await ledger.resolve([cost(reservation.id, 40)]);
        expect(await counters()).toEqual(both(40, 0));
        await ledger.resolve([cost(reservation.id, 40)]);
        await ledger.resolve([cost(reservation.id, 41)]);
        expect(await counters()).toEqual(both(40, 0));
      });

      test("an operator's settlement or release is final until the upstream's own figure arrives, once", async () => {
        const [settled, released] = [reservationOf({ amount: usd(300) }), reservationOf({ amount: usd(200) })];
        for (const { id, ...rest } of [settled, released]) {
          await ledger.reserve({ id, ...rest });
          await ledger.resolve([{ id, kind: "unknown", reason: "reset" }]);
        }
        const operator = await open("node-b");
        await operator.resolve([
          { id: settled.id, kind: "settled", actual: usd(50), source: "operator", reason: "operator ann: invoice" },
          { id: released.id, kind: "released", source: "operator", reason: "operator ann: not on the invoice" },
        ]);
        expect(await counters()).toEqual(both(50, 0));
        // Neither another operator's estimate nor a report without a figure changes it.
        await operator.resolve([
          { id: settled.id, kind: "settled", actual: usd(51), source: "operator" },
          { id: released.id, kind: "charged", reason: "left" },
        ]);
        expect(await counters()).toEqual(both(50, 0));
        await ledger.resolve([cost(settled.id, 320), cost(released.id, 30)]);
        expect(await counters()).toEqual(both(350, 0));
        expect(events).toContainEqual(expect.objectContaining({ kind: "overrun", hold: 300, actual: 320 }));
        await ledger.resolve([cost(settled.id, 1), cost(released.id, 2)]);
        expect(await counters()).toEqual(both(350, 0));
      });

      test("an operator corrects a charge without proof", async () => {
        const reservation = reservationOf({ amount: usd(300) });
        await ledger.reserve(reservation);
        await ledger.resolve([{ id: reservation.id, kind: "charged", reason: "left" }]);
        await ledger.resolve([{ id: reservation.id, kind: "released", source: "operator", reason: "operator ann" }]);
        expect(await counters()).toEqual(both(0, 0));
      });

      test("the minimum charge of a cancelled call is corrected by its billed cost", async () => {
        const reservation = reservationOf({ amount: usd(300) });
        await ledger.reserve(reservation);
        await ledger.resolve([{ id: reservation.id, kind: "settled", actual: usd(80), source: "at_least" }]);
        await ledger.resolve([cost(reservation.id, 120)]);
        expect(await counters()).toEqual(both(120, 0));
      });

      test("calls of unknown outcome are given out for look-up, at growing intervals, to one node, and survive a restart", async () => {
        const [unknown, charged, settled, plain] = Array.from({ length: 4 }, () => reservationOf({ amount: usd(30) }));
        if (!unknown || !charged || !settled || !plain) throw new Error("unreachable");
        for (const reservation of [unknown, charged, settled, plain]) await ledger.reserve(reservation);
        await ledger.resolve([
          { id: unknown.id, kind: "unknown", reason: "reset", generationId: "gen-1" },
          { id: charged.id, kind: "charged", reason: "caller left", generationId: "gen-2" },
          { ...cost(settled.id, 3), generationId: "gen-3" },
          { id: plain.id, kind: "unknown", reason: "reset" },
        ]);
        // A call that is known to have ended otherwise is not looked up, also after a repeated report.
        await ledger.resolve([{ id: settled.id, kind: "unknown", reason: "late", generationId: "gen-3" }]);
        expect(await ledger.takeLookups(10)).toEqual([]);
        fixture.clock.offsetMs += 3_500;
        const other = await open("node-b");
        expect((await ledger.heldMoney("session/goal"))?.unresolved.filter(({ asked }) => asked)).toHaveLength(1);
        const [mine, theirs] = await Promise.all([ledger.takeLookups(1), other.takeLookups(10)]);
        const taken = [...mine, ...theirs, ...(await other.takeLookups(10))];
        const byId = (one: { id: string }, two: { id: string }) => (one.id < two.id ? -1 : 1);
        expect(taken.toSorted(byId)).toEqual(
          [
            { id: unknown.id, generationId: "gen-1", hold: usd(30), last: false },
            { id: charged.id, generationId: "gen-2", hold: usd(30), last: false },
          ].toSorted(byId),
        );
        await other.dropLookups([charged.id]);
        // Looked up again after 5, 10, 20 … seconds, seven times in all.
        const asked: boolean[] = [];
        for (let seconds = 0; seconds < 1_200; seconds += 5) {
          fixture.clock.offsetMs += 5_000;
          for (const { id, last } of await other.takeLookups(10)) {
            expect(id).toBe(unknown.id);
            asked.push(last);
          }
        }
        expect(asked).toEqual([false, false, false, false, false, true]);
      });

      test("a late cost above the charge raises it and is reported as an overrun", async () => {
        const reservation = reservationOf({ amount: usd(300), deadlineMs: 0 });
        await ledger.reserve(reservation);
        await ledger.resolve([{ id: reservation.id, kind: "charged", reason: "left" }]);
        await ledger.resolve([cost(reservation.id, 350)]);
        expect(await counters()).toEqual(both(350, 0));
        expect(events).toContainEqual(expect.objectContaining({ kind: "overrun", hold: 300, actual: 350 }));
      });

      test("a new day starts at 0, and the goal's account continues", async () => {
        fixture.clock.moveTo(23, 59, 50);
        const reservation = reservationOf({ amount: usd(300) });
        const reply = await ledger.reserve(reservation);
        fixture.clock.offsetMs += 20_000;
        expect(reply).toMatchObject({ kind: "held", day: utcDayOf(fixture.clock.now() - 86_400_000) });
        await ledger.reserve(reservationOf({ amount: usd(100) }));
        expect(await counters()).toEqual({ goal: [0, 400], day: [0, 100] });
      });

      test("a reservation from before midnight is settled to the day on which it began", async () => {
        fixture.clock.moveTo(23, 59, 50);
        const reservation = reservationOf({ amount: usd(300) });
        await ledger.reserve(reservation);
        fixture.clock.offsetMs += 20_000;
        await ledger.resolve([cost(reservation.id, 200)]);
        expect(await counters()).toEqual({ goal: [200, 0], day: [0, 0] });
      });

      test("requests without a goal share an account that starts again each day", async () => {
        fixture.clock.moveTo(23, 59, 50);
        await ledger.reserve(reservationOf({ amount: usd(1_000), goal: adhocGoal }));
        expect((await ledger.reserve(reservationOf({ amount: usd(1), goal: adhocGoal }))).kind).toBe("refused");
        fixture.clock.offsetMs += 20_000;
        expect((await ledger.reserve(reservationOf({ amount: usd(1_000), goal: adhocGoal }))).kind).toBe("held");
      });

      test("a clock set back does not reopen an old day", async () => {
        fixture.clock.moveTo(0, 10);
        const first = await ledger.reserve(reservationOf({ amount: usd(300) }));
        fixture.clock.offsetMs -= 3_600_000;
        const second = await ledger.reserve(reservationOf({ amount: usd(300) }));
        if (first.kind !== "held" || second.kind !== "held") throw new Error(`${first.kind}, ${second.kind}`);
        expect(second.day).toBe(first.day);
        expect((await spendOf()).dayAccount.held).toBe(usd(600));
      });

      test("a reservation repeated after midnight is still that of the day before", async () => {
        fixture.clock.moveTo(23, 59, 50);
        const reservation = reservationOf({ amount: usd(300) });
        const first = await ledger.reserve(reservation);
        fixture.clock.offsetMs += 20_000;
        const again = await ledger.reserve(reservation);
        if (first.kind !== "held" || again.kind !== "held") throw new Error(`${first.kind}, ${again.kind}`);
        expect(again.day).toBe(first.day);
        expect(await counters()).toEqual({ goal: [0, 300], day: [0, 0] });
      });
    });

    describe("nodes", () => {
      test("a node that restarts leaves its dispatched holds held, to be charged at the deadline", async () => {
        await ledger.reserve(reservationOf({ amount: usd(300), deadlineMs: 1_000 }));
        ledger = await open("node-a");
        await ledger.jobs.sweep();
        expect(await counters()).toEqual(both(0, 300));
        expect(events).toContainEqual(expect.objectContaining({ kind: "resolved", state: "UNRESOLVED" }));
        fixture.clock.offsetMs += 62_000;
        await ledger.jobs.sweep();
        expect(await counters()).toEqual(both(300, 0));
      });

      test("the holds of a node without heartbeat for a minute are taken over by others, those of a live node never", async () => {
        const other = await open("node-b");
        await other.reserve(reservationOf({ amount: usd(300) }));
        await ledger.jobs.sweep();
        expect(events.filter(({ kind }) => kind === "resolved")).toEqual([]);
        fixture.clock.offsetMs += 61_000;
        await ledger.jobs.sweep();
        expect(events).toContainEqual(
          expect.objectContaining({ kind: "resolved", state: "UNRESOLVED", orphanOf: "node-b" }),
        );
        expect(await counters()).toEqual(both(0, 300));
      });

      test("a refusal does not wait for the holds of a node that has missed two heartbeats, though they are not taken over yet", async () => {
        const other = await open("node-b");
        await other.reserve(reservationOf({ amount: usd(300) }));
        fixture.clock.offsetMs += 13_000;
        expect((await ledger.heldMoney("session/goal"))?.unresolved.map(({ amount }) => amount)).toEqual([usd(300)]);
        await ledger.jobs.sweep();
        expect(events.filter(({ kind }) => kind === "resolved")).toEqual([]);
        expect(await counters()).toEqual(both(0, 300));
      });

      test("two nodes that sweep at once charge once", async () => {
        const other = await open("node-b");
        await ledger.reserve(reservationOf({ amount: usd(300), deadlineMs: 0 }));
        fixture.clock.offsetMs += 61_000;
        await Promise.all([ledger.jobs.sweep(), other.jobs.sweep(), ledger.jobs.sweep(), other.jobs.sweep()]);
        expect(await counters()).toEqual(both(300, 0));
      });
    });

    describe("caps of the operator", () => {
      test("a cap set for a goal replaces the policy's, higher or lower", async () => {
        await fixture.setCap("goal/session/goal", usd(100));
        expect(await ledger.reserve(reservationOf({ amount: usd(101) }))).toMatchObject({
          kind: "refused",
          hard: usd(100),
        });
        await fixture.setCap("goal/session/goal", usd(5_000));
        expect((await ledger.reserve(reservationOf({ amount: usd(4_000) }))).kind).toBe("held");
        expect((await spendOf()).goalHardOverride).toBe(usd(5_000));
      });

      test("a cap set for a day replaces the policy's until it is cleared", async () => {
        const day = `day/${utcDayOf(fixture.clock.now())}`;
        await fixture.setCap(day, usd(100));
        expect(await ledger.reserve(reservationOf({ amount: usd(101) }))).toMatchObject({ binding: "day" });
        await fixture.setCap(day, null);
        expect((await ledger.reserve(reservationOf({ amount: usd(101) }))).kind).toBe("held");
      });

      test("a cap below the amount spent refuses, and takes nothing back", async () => {
        await ledger.reserve(reservationOf({ amount: usd(500) }));
        await fixture.setCap("goal/session/goal", usd(100));
        expect((await ledger.reserve(reservationOf({ amount: usd(1) }))).kind).toBe("refused");
        expect(await counters()).toEqual(both(0, 500));
      });
    });

    describe("a key with a cap of its own", () => {
      const key = { label: "ci", dayHard: usd(500) };
      const keySpend = async () => (await ledger.read("session/goal", "ci"))?.keyAccount;

      test("has an account for the day, held and charged with the goal's and the day's", async () => {
        const reservation = reservationOf({ amount: usd(300), key });
        expect((await ledger.reserve(reservation)).kind).toBe("held");
        expect([await counters(), await keySpend()]).toEqual([both(0, 300), { spent: usd(0), held: usd(300) }]);
        await ledger.resolve([cost(reservation.id, 120)]);
        expect([await counters(), await keySpend()]).toEqual([both(120, 0), { spent: usd(120), held: usd(0) }]);
        expect(ledger.peek("session/goal", "ci")?.keyAccount).toEqual({ spent: usd(120), held: usd(0) });
      });

      test("is filled to the last nano-dollar over all goals and nodes; others go on, and nothing is held in part", async () => {
        const other = await open("node-b");
        const goals = Array.from({ length: 60 }, (_, i) => reservationOf({ amount: usd(9), goal: `g${i % 5}`, key }));
        const replies = await Promise.all(goals.map((one, i) => (i % 2 === 0 ? ledger : other).reserve(one)));
        expect(replies.filter(({ kind }) => kind === "held")).toHaveLength(55); // 55 × 9 = 495
        const refused = await ledger.reserve(reservationOf({ amount: usd(6), key }));
        const { keyAccount } = (await ledger.read("g0", "ci")) ?? {};
        expect(refused).toMatchObject({ kind: "refused", binding: "key", hard: usd(500), spend: { keyAccount } });
        expect(keyAccount).toEqual({ spent: usd(0), held: usd(495) });
        expect((await spendOf()).dayAccount.held).toBe(usd(495));
        expect((await ledger.reserve(reservationOf({ amount: usd(5), key }))).kind).toBe("held");
        expect((await ledger.reserve(reservationOf({ amount: usd(400) }))).kind).toBe("held");
        expect((await ledger.heldMoney("session/goal", "ci"))?.unresolved).toEqual([]);
      });

      test("begins anew each day, and its account goes with those of the day", async () => {
        fixture.clock.moveTo(23, 59, 50);
        const reservation = reservationOf({ amount: usd(500), key });
        await ledger.reserve(reservation);
        expect(await ledger.reserve(reservationOf({ amount: usd(1), key }))).toMatchObject({ binding: "key" });
        fixture.clock.offsetMs += 20_000;
        expect(await keySpend()).toEqual({ spent: usd(0), held: usd(0) });
        await ledger.resolve([cost(reservation.id, 500)]);
        fixture.clock.offsetMs += 31 * 86_400_000;
        await ledger.jobs.prune();
        expect(await keySpend()).toEqual({ spent: usd(0), held: usd(0) });
      });
    });

    describe("views", () => {
      test("peek shows what this node saw last, without asking the store", async () => {
        expect(ledger.peek("session/goal")).toBeUndefined();
        const reservation = reservationOf({ amount: usd(300) });
        await ledger.reserve(reservation);
        expect(ledger.peek("session/goal")).toMatchObject({ goalAccount: { spent: usd(0), held: usd(300) } });
        await ledger.resolve([cost(reservation.id, 10)]);
        expect(ledger.peek("session/goal")).toMatchObject({ goalAccount: { spent: usd(10), held: usd(0) } });
      });

      test("read sees what other nodes wrote, and peek shows it from then on", async () => {
        const other = await open("node-b");
        await ledger.reserve(reservationOf({ amount: usd(300) }));
        expect((await other.read("session/goal"))?.goalAccount.held).toBe(usd(300));
        expect(other.peek("session/goal")?.goalAccount.held).toBe(usd(300));
      });

      test("read sees every resolution that this node has received before, written or not", async () => {
        const other = await open("node-b");
        for (let round = 0; round < 25; round++) {
          for (const node of [ledger, other]) {
            const goal = `freed/${round}`;
            const [first, second] = [900, 50].map((amount) => reservationOf({ amount: usd(amount), goal })) as [
              Reservation,
              Reservation,
            ];
            expect((await node.reserve(first)).kind).toBe("held");
            expect((await node.reserve(second)).kind).toBe("held");
            // As after an answer: nothing waits for it.
            node.resolveInBackground([{ id: first.id, kind: "released", reason: "rejected" }]);
            if (round % 2 === 0) await Promise.resolve();
            if (round % 3 === 0) node.resolveInBackground([cost(second.id, 1)]);
            else void node.resolve([cost(second.id, 1)]);
            const spend = await node.read(goal);
            expect(spend?.goalAccount).toEqual({ spent: usd(node === ledger ? 1 : 2), held: usd(0) });
          }
        }
      });

      test("names of goals are separate, whatever characters they contain", async () => {
        const names = [
          "a",
          "A",
          "a ",
          "a'b",
          'a"b',
          "a\\b",
          "a\u0000b",
          "ä/ö",
          "\ud800",
          "😀",
          "adhoc/x",
          "x".repeat(5_000),
          "%",
          "_",
        ];
        for (const [index, goal] of names.entries()) {
          await ledger.reserve(reservationOf({ amount: usd(index + 1), goal }));
        }
        for (const [index, goal] of names.entries()) {
          expect((await spendOf(goal)).goalAccount.held).toBe(usd(index + 1));
        }
      });
    });

    test("retention deletes old closed reservations, and the counters stay", async () => {
      const old = reservationOf({ amount: usd(300) });
      const open = reservationOf({ amount: usd(50), deadlineMs: 86_400_000 });
      await ledger.reserve(old);
      await ledger.resolve([cost(old.id, 200)]);
      fixture.clock.offsetMs += 31 * 86_400_000;
      await ledger.reserve(open);
      await ledger.jobs.prune();
      expect(await counters()).toEqual({ goal: [200, 50], day: [0, 50] });
      await ledger.resolve([cost(open.id, 20)]);
      expect(await counters()).toEqual({ goal: [220, 0], day: [20, 0] });
      expect(events).toContainEqual({ kind: "pruned", reservations: 1 });
    });

    test("retention keeps open and recent reservations, and those with a time in the future", async () => {
      const reserved = async (fields: Partial<Reservation> = {}) => {
        const reservation = reservationOf({ amount: usd(10), ...fields });
        expect((await ledger.reserve(reservation)).kind).toBe("held");
        return reservation.id;
      };
      await reserved({ deadlineMs: 90 * 86_400_000 });
      fixture.clock.offsetMs += 90 * 86_400_000;
      await ledger.resolve([cost(await reserved(), 1)]);
      fixture.clock.offsetMs -= 90 * 86_400_000;
      await ledger.resolve([cost(await reserved(), 2)]);
      const late = await reserved();
      await ledger.resolve([{ id: late, kind: "charged", reason: "caller left" }]);
      fixture.clock.offsetMs += 31 * 86_400_000;
      await ledger.resolve([cost(await reserved({ amount: usd(20) }), 3)]);
      await ledger.resolve([cost(late, 4)]);
      await ledger.jobs.prune();
      expect(events.filter(({ kind }) => kind === "pruned")).toEqual([{ kind: "pruned", reservations: 1 }]);
      fixture.clock.offsetMs += 32 * 86_400_000;
      await ledger.jobs.prune();
      expect((await spendOf()).goalAccount).toEqual({ spent: usd(10), held: usd(10) });
    });

    test("closing writes what waits for the next reservation", async () => {
      const reservation = reservationOf({ amount: usd(300) });
      await ledger.reserve(reservation);
      ledger.resolveInBackground([cost(reservation.id, 20)]);
      await ledger.close(1_000);
      ledger = await open("node-b");
      expect(await counters()).toEqual(both(20, 0));
      expect(events.filter(({ kind }) => kind === "resolutions_dropped")).toEqual([]);
    });

    test("after closing it answers unavailable", async () => {
      await ledger.close(1_000);
      expect((await ledger.reserve(reservationOf({ amount: usd(1) }))).kind).toBe("unavailable");
      expect(ledger.status().ok).toBe(false);
    });
  });
}
