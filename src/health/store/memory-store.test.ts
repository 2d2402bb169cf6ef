import { healthStoreContract } from "./health-store.contract.ts";
import { memoryHealthStore } from "./memory-store.ts";

healthStoreContract("in memory", async () => memoryHealthStore());
