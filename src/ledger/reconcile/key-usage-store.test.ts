import { keyUsageStoreContract } from "./key-usage-store.contract.ts";
import { openKeyUsageStore } from "./key-usage-store.ts";

keyUsageStoreContract("SQLite", () => openKeyUsageStore("sqlite::memory:"));
