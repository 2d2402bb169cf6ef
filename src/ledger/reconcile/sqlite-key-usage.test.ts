import { keyUsageStoreContract } from "./key-usage-store.contract.ts";
import { openKeyUsageStore } from "./open-key-usage-store.ts";

keyUsageStoreContract("SQLite", () => openKeyUsageStore("sqlite::memory:"));
