import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSqliteWrites } from "#db/sql-writes.ts";
import { openSqlite } from "#db/sqlite.ts";
import { sqliteMigrations } from "#db/sqlite-migrations.ts";
import { sqliteRecords } from "#records/store/sqlite-connection.ts";
import { beforeLateCosts, lateCostsContract } from "./late-costs.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "late-costs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

lateCostsContract("SQLite", async () => {
  const path = join(folder, `${++files}.db`);
  const earlier = openSqlite(
    path,
    sqliteMigrations.filter(({ version }) => version <= beforeLateCosts),
  );
  return {
    write: async (sql, rows) => runSqliteWrites(earlier, [{ sql, rows }]),
    async open() {
      earlier.close();
      return sqliteRecords(path);
    },
  };
});
