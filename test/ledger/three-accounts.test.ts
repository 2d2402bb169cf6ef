import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import type { Reservation, Resolution } from "#ledger/ledger.ts";
import { PostgresStore } from "#ledger/postgres/postgres-store.ts";
import { openSqliteStore } from "#ledger/sqlite/sqlite-store.ts";
import type { LedgerStore } from "#ledger/store.ts";
import { nodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { systemClock } from "#platform/system-clock.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { postgresMissing, startPostgres } from "../harness/postgres.ts";

/**
 * Several nodes on one store: many reservations and resolutions at once under the caps of goals, of keys and of the day. In each pause every
 * account stands as the replies say, the last nano-dollar can be held, and one more cannot.
 */
const rounds = process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 150 : 4;
const caps = { goal: 10_000, day: 24_000, key: 9_000 } as const;
const goals = ["a", "b", "c"] as const;
const keys = ["one", "two", "three", undefined] as const;

/** What the replies of the ledger add up to, by goal, key and day. */
class Expected {
  readonly open = new Map<string, Reservation>();
  readonly spent = new Map<string, number>();

  /** Spent and held of an account. */
  sum(account: string): { spent: number; held: number } {
    let held = 0;
    for (const one of this.open.values())
      if (accountsOf(one.goal, one.key?.label).includes(account)) held += one.amount;
    return { spent: this.spent.get(account) ?? 0, held };
  }

  closed(reservation: Reservation, charged: number): void {
    this.open.delete(reservation.id);
    for (const account of accountsOf(reservation.goal, reservation.key?.label)) {
      this.spent.set(account, (this.spent.get(account) ?? 0) + charged);
    }
  }

  room(goal: string, key: string | undefined): number {
    const rooms = accountsOf(goal, key).map((account) => {
      const { spent, held } = this.sum(account);
      return caps[account.slice(0, account.indexOf("/")) as keyof typeof caps] - spent - held; // made from these names
    });
    return Math.min(...rooms);
  }
}

function accountsOf(goal: string, key: string | undefined): string[] {
  return [`goal/${goal}`, "day/", ...(key === undefined ? [] : [`key/${key}`])];
}

async function torture(
  open: () => Promise<LedgerStore>,
  nodeCount: number,
  seed: number,
): Promise<{ held: number; refused: number }> {
  const random = seededRandom(seed);
  const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T; // never empty
  const nodes: BatchedLedger[] = [];
  for (let node = 1; node <= nodeCount; node++)
    nodes.push(await BatchedLedger.open(await open(), `node-${node}`, nodeOptions(systemClock)));
  const expected = new Expected();
  const counts = { held: 0, refused: 0 };
  const ask = (goal: string, key: string | undefined, amount: number) =>
    reservationOf({
      amount: nanoUsd(amount),
      goal,
      perGoalHard: nanoUsd(caps.goal),
      perDayHard: nanoUsd(caps.day),
      ...(key !== undefined && { key: { label: key, dayHard: nanoUsd(caps.key) } }),
    });
  /** Ends a call in one of the ways of calls, from either node. */
  const close = async (reservation: Reservation) => {
    const { id, amount } = reservation;
    const actual = nanoUsd(random() < 0.8 ? 0 : Math.floor((random() * amount) / 20));
    const [resolution, charged] = pick<[Resolution, number]>([
      [{ id, kind: "settled", actual, source: "usage" }, actual],
      [{ id, kind: "released", reason: "rejected" }, 0],
    ]);
    await pick(nodes).resolve(random() < 0.3 ? [{ id, kind: "unknown", reason: "reset" }, resolution] : [resolution]);
    expected.closed(reservation, charged);
  };
  try {
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        Array.from({ length: 120 }, async () => {
          const reservation = ask(pick(goals), pick(keys), 1 + Math.floor(random() * 700));
          const reply = await pick(nodes).reserve(reservation);
          if (reply.kind === "refused") counts.refused += 1;
          else if (reply.kind === "held") {
            counts.held += 1;
            expected.open.set(reservation.id, reservation);
            if (random() < 0.4) await close(reservation);
          } else throw new Error(reply.reason);
        }),
      );
      for (const goal of goals) {
        for (const key of keys) {
          const spend = await pick(nodes).read(goal, key);
          const sums = [spend?.goalAccount, spend?.dayAccount, ...(key === undefined ? [] : [spend?.keyAccount])];
          expect(sums as unknown[]).toEqual(accountsOf(goal, key).map((account) => expected.sum(account)));
          const room = expected.room(goal, key);
          expect(room).toBeGreaterThanOrEqual(0);
          expect((await pick(nodes).reserve(ask(goal, key, room + 1))).kind).toBe("refused");
          const last = ask(goal, key, room);
          expect((await pick(nodes).reserve(last)).kind).toBe("held");
          await pick(nodes).resolve([{ id: last.id, kind: "released", reason: "rejected" }]);
        }
      }
      await Promise.all([...expected.open.values()].map((one) => (random() < 0.8 ? close(one) : undefined)));
    }
    return counts;
  } finally {
    for (const node of nodes) await node.close(5_000);
  }
}

async function check(url: string, open: () => Promise<LedgerStore>, nodes: number, seed: number): Promise<void> {
  const counts = await torture(open, nodes, seed);
  expect(Math.min(counts.held, counts.refused)).toBeGreaterThan(rounds * 10);
  const admin = await openLedgerAdmin(url);
  try {
    expect(await admin.audit()).toMatchObject({ findings: [], remarks: [] });
  } finally {
    await admin.close();
  }
}

describe("the caps of goals, keys and the day hold to the nano-dollar, and nobody is refused while money is free", () => {
  const limit = { timeout: 600_000 };
  test(
    "on SQLite",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "smart-gateway-accounts-"));
      const path = join(folder, "gateway.db");
      await check(`sqlite:${path}`, () => openSqliteStore(path, systemClock), 2, 1);
      rmSync(folder, { recursive: true });
    },
    limit,
  );

  test.skipIf(postgresMissing() !== undefined)(
    "on four nodes of PostgreSQL",
    async () => {
      const server = await startPostgres();
      try {
        const url = await server.createDatabase();
        await check(url, () => PostgresStore.open(url), 4, 2);
      } finally {
        await server.remove();
      }
    },
    limit,
  );
});
