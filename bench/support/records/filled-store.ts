import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRecordStore } from "#records/store/record-store.ts";
import { startPostgres } from "../../../test/harness/postgres.ts";
import { BenchRecords } from "./bench-records.ts";

export const storeOptions = {
  records: { type: "string", default: "1000000" },
  /** Of an existing store, which is filled if it is empty. */
  database: { type: "string" },
  /** A PostgreSQL server that the bench starts, instead of an SQLite file. */
  postgres: { type: "boolean", default: false },
} as const;

interface FilledStore extends AsyncDisposable {
  readonly url: string;
}

/** A database with this many decision records of the last 30 days. */
export async function filledStore(options: {
  readonly records: string;
  readonly database?: string | undefined;
  readonly postgres: boolean;
}): Promise<FilledStore> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-store-"));
  const server = options.postgres ? await startPostgres({ fsync: "off", shared_buffers: "128MB" }) : undefined;
  const url = options.database ?? (await server?.createDatabase()) ?? `sqlite:${join(folder, "gateway.db")}`;
  const store = await openRecordStore(url);
  const began = performance.now();
  if ((await store.size()).rows === 0) {
    const count = Number(options.records);
    await new BenchRecords(count, Date.now()).write(store, 0, count);
    console.log(`${count} records written in ${Math.round((performance.now() - began) / 1_000)} s`);
  }
  const { rows, bytes } = await store.size();
  console.log(`${rows} records, ${Math.round(bytes / 1e6)} MB as counted`);
  await store.close();
  return {
    url,
    async [Symbol.asyncDispose]() {
      await server?.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
