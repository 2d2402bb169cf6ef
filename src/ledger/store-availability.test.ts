import { expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import { StoreFailure } from "#ledger/store.ts";
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
