import { describe, expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import { type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { manualNodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { MemoryStore } from "#ledger/testing/memory-store.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { BatchedLedger } from "./batched-ledger.ts";

test("a store on a full disk stays unavailable while only cancellations that find nothing get through", async () => {
  const time = manualTime();
  const store = new MemoryStore(time.clock);
  const logged: string[] = [];
  const ledger = await BatchedLedger.open(store, "a", {
    ...manualNodeOptions(time),
    log: ({ kind }) => void (kind.startsWith("store_") && logged.push(kind)),
  });
  let isFull = true;
  let cancelled = 0;
  store.commit = async (batch) => {
    if (isFull && batch.operations.some(({ kind }) => kind === "reserve")) {
      throw new StoreFailure("transient", "53100: could not extend file");
    }
    cancelled += batch.operations.filter(({ kind }) => kind === "cancel").length;
    return store.commitNow(batch);
  };
  const ask = async () => {
    const reply = ledger.reserve(reservationOf({ amount: nanoUsd(1) }));
    await time.advanceAsync(1_200);
    return (await reply).kind;
  };
  for (let n = 0; n < 3; n++) expect(await ask()).toBe("unavailable");
  expect([ledger.status().ok, cancelled > 0, logged]).toEqual([false, true, ["store_unavailable"]]);
  isFull = false;
  expect(await ask()).toBe("held");
  expect([ledger.status().ok, logged]).toEqual([true, ["store_unavailable", "store_available"]]);
  await ledger.close(0);
});

describe("a node that nobody reserves on", () => {
  /** A node over a store that a test takes down, first found to be down by a read. */
  async function openUnavailable() {
    const time = manualTime();
    const store = new MemoryStore(time.clock);
    const ledger = await BatchedLedger.open(store, "a", manualNodeOptions(time));
    const down = { batches: true };
    store.commit = async (batch) => {
      if (down.batches) throw new StoreFailure("transient", "canceling statement due to lock timeout");
      return store.commitNow(batch);
    };
    const read = ledger.read("g");
    await time.advanceAsync(1_500);
    expect([await read, ledger.status().ok]).toEqual([undefined, false]);
    return { time, ledger, down };
  }

  test("is unavailable while heartbeats succeed and batches do not, and available with the next heartbeat", async () => {
    const { time, ledger, down } = await openUnavailable();
    for (let n = 0; n < 20; n++) {
      await time.advanceAsync(1_000);
      expect(ledger.status().ok).toBe(false);
    }
    down.batches = false;
    await time.advanceAsync(7_100);
    expect(ledger.status().ok).toBe(true);
    await ledger.close(0);
  });

  test("is available with the next heartbeat although there is always a read that waits", async () => {
    const { time, ledger, down } = await openUnavailable();
    down.batches = false;
    let reading = true;
    const readOn = async () => {
      while (reading) await ledger.read("g");
    };
    const readers = [readOn(), readOn()];
    for (let n = 0; n < 71; n++) await time.advanceAsync(100);
    const { ok } = ledger.status();
    reading = false;
    await Promise.all(readers);
    await ledger.close(0);
    expect(ok).toBe(true);
  });

  test("is available as soon as it has recovered from a fail-over", async () => {
    const time = manualTime();
    let server: "first" | "gone" | "second" = "first";
    const store: LedgerStore = Object.assign(new MemoryStore(time.clock), {
      async heartbeat() {
        if (server !== "first") throw new StoreFailure("behind", "another server has taken over");
      },
      failOver: {
        async rejoin() {
          if (server === "gone") throw new StoreFailure("transient", "connection refused");
          return { batches: 0, takenOver: server === "second", earlier: [] };
        },
        notRecovered: async () => [],
        finish: async () => {},
      },
    });
    const ledger = await BatchedLedger.open(store, "a", manualNodeOptions(time));
    server = "gone";
    await time.advanceAsync(6_100);
    expect(ledger.status().ok).toBe(false);
    server = "second";
    // The longest pause between two tries.
    await time.advanceAsync(500);
    expect(ledger.status().ok).toBe(true);
    await ledger.close(0);
  });
});
