import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRecordStore } from "#records/open-record-store.ts";
import { recordStoreContract } from "./record-store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "records-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

recordStoreContract("SQLite", () => openRecordStore(`sqlite:${join(folder, `${++files}.db`)}`));
recordStoreContract("SQLite in memory", () => openRecordStore("sqlite::memory:"));
