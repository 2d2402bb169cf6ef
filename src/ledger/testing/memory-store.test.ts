import { describe, expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import { processTimers } from "#ledger/open-ledger.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { StoreFailure } from "#ledger/store.ts";
import {
  ledgerContract,
  ManualClock,
  manualNodeOptions,
  nodeOptions,
  reservationOf,
} from "#ledger/testing/ledger.contract.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { imbalances, MemoryStore } from "./memory-store.ts";

ledgerContract("in-memory", async () => {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  return {
    clock,
    open: (nodeId, log) => BatchedLedger.open(store, nodeId, nodeOptions(clock, log)),
    audit: async () => imbalances(store),
    setCap: async (account, hard) => store.setCap(account, hard),
    close: async () => {},
  };
});

describe("a ledger over a store that fails", () => {
  async function openOver(commit: (store: MemoryStore) => MemoryStore["commit"]) {
    const clock = new ManualClock();
    const store = new MemoryStore(clock);
    const events: LedgerEvent[] = [];
    const ledger = await BatchedLedger.open(store, "a", {
      clock,
      timers: processTimers,
      random: Math.random,
      log: (event) => events.push(event),
      retentionMs: () => 0,
    });
    store.commit = commit(store);
    return { ledger, store, events };
  }

  test("fails permanently when its store reports that it is broken", async () => {
    const { ledger, events } = await openOver(() => async () => {
      throw new StoreFailure("fatal", "the disk has failed");
    });
    expect((await ledger.reserve(reservationOf({ amount: nanoUsd(1) }))).kind).toBe("unavailable");
    expect(events).toContainEqual({
      kind: "store_failed",
      message: "the disk has failed",
      failed: "restart_needed",
    });
    const reply = await ledger.reserve(reservationOf({ amount: nanoUsd(1) }));
    expect(reply).toMatchObject({ kind: "unavailable", reason: expect.stringContaining("the disk has failed") });
    expect(ledger.status()).toMatchObject({ ok: false, failed: "restart_needed" });
    await ledger.close(10);
  });

  /** A ledger over a store that answers when `answer` is called. */
  async function openSlow() {
    const time = manualTime();
    const store = new MemoryStore(time.clock);
    const ledger = await BatchedLedger.open(store, "a", manualNodeOptions(time));
    const answering = Promise.withResolvers<void>();
    store.commit = async (batch) => {
      await answering.promise;
      return store.commitNow(batch);
    };
    return { ledger, store, time, answer: answering.resolve };
  }

  test("admits nothing by the answer of a store that was meanwhile found to be lost", async () => {
    const { ledger, store, time, answer } = await openSlow();
    store.heartbeat = async () => {
      throw new StoreFailure("lost", "the file was deleted");
    };
    await time.advanceAsync(4_500);
    const reply = ledger.reserve(reservationOf({ amount: nanoUsd(1) }));
    await time.advanceAsync(600);
    expect(ledger.status()).toMatchObject({ ok: false, failed: "store_lost" });
    answer();
    expect((await reply).kind).toBe("unavailable");
    await ledger.close(10);
  });

  test("isolates the one operation that cannot be written, and writes all others", async () => {
    const { ledger, store, events } = await openOver((inner) => async (batch) => {
      for (const operation of batch.operations) {
        if ("id" in operation && operation.id === "poison") {
          throw new StoreFailure("conflict", "cannot be written");
        }
      }
      return inner.commitNow(batch);
    });
    const reservations = Array.from({ length: 5 }, () => reservationOf({ amount: nanoUsd(10) }));
    for (const reservation of reservations) await ledger.reserve(reservation);
    const settled = (id: string) => ({ id, kind: "settled", actual: nanoUsd(3), source: "usage" }) as const;
    const next = reservationOf({ amount: nanoUsd(7) });
    const [, reply] = await Promise.all([
      ledger.resolve([settled(reservations[0]!.id), settled("poison"), settled(reservations[1]!.id)]),
      ledger.reserve(next, [settled(reservations[2]!.id), settled("poison")]),
      ledger.resolve(reservations.slice(3).map(({ id }) => settled(id))),
    ]);
    expect(reply.kind).toBe("held");
    for (const { id } of reservations) expect(store.reservations.get(id)?.state).toBe("SETTLED");
    expect(events.filter(({ kind }) => kind === "resolutions_dropped")).toHaveLength(2);
    expect(imbalances(store)).toEqual([]);
    await ledger.close(1_000);
  });
});
