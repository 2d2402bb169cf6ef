import { BatchedLedger } from "./batched-ledger.ts";
import { ledgerContract, MovableClock } from "./ledger.contract.ts";
import { imbalances, MemoryStore } from "./memory-store.ts";
import { processTimers } from "./open-ledger.ts";

ledgerContract("in-memory", async () => {
  const clock = new MovableClock();
  const store = new MemoryStore(clock);
  return {
    clock,
    open: (nodeId, log = () => {}) =>
      BatchedLedger.open(store, nodeId, {
        clock,
        timers: processTimers,
        random: Math.random,
        log,
        retentionMs: () => 30 * 86_400_000,
      }),
    audit: async () => imbalances(store),
    setCap: async (account, hard) => store.setCap(account, hard),
    close: async () => {},
  };
});
