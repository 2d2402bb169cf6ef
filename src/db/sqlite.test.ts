import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pendingMigrations, sqliteMigrations } from "./migrations.ts";
import { requireCurrentSchema } from "./schema-version.ts";
import { openSqlite, sqliteVersionOf } from "./sqlite.ts";

describe("an SQLite database", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "smart-gateway-sqlite-"));
    path = join(folder, "not", "there", "yet", "gateway.db");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("is durable at each commit, on every open", () => {
    for (let i = 0; i < 2; i++) {
      const db = openSqlite(path);
      expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      expect(db.query("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
      db.close();
    }
  });

  test("is migrated by one of ten processes that start at once", async () => {
    const program = `import { openSqlite } from ${JSON.stringify(join(import.meta.dir, "sqlite.ts"))}; openSqlite(${JSON.stringify(path)}).close();`;
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => Bun.spawn([process.execPath, "-e", program], { stderr: "inherit" }).exited),
    );
    expect(codes).toEqual(Array.from({ length: 10 }, () => 0));
    const db = new Database(path);
    expect(db.query("SELECT count(*) AS n FROM schema_migration").get()).toEqual({ n: sqliteMigrations.length });
    db.close();
  });

  test("and its log files are accessible to their owner only", () => {
    const db = openSqlite(path);
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    db.close();
  });

  test("of a newer release stops the start with an instruction", () => {
    const db = openSqlite(path);
    db.run("INSERT INTO schema_migration (version, name, applied_at) VALUES (9999, 'from the future', 'then')");
    db.close();
    expect(() => openSqlite(path)).toThrow(/schema version 9999.*newer release/);
  });
});

describe("the migrations", () => {
  test("can be required instead of applied: nothing is created, and the message says what to run", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-sqlite-"));
    const fresh = join(folder, "gateway.db");
    const location = { kind: "sqlite", path: fresh } as const;
    await expect(requireCurrentSchema(location)).rejects.toThrow(/1 ledger, 10 health.*smart-gateway migrate/);
    expect(existsSync(fresh)).toBe(false);
    openSqlite(fresh, sqliteMigrations.slice(0, 1)).close();
    await expect(requireCurrentSchema(location)).rejects.toThrow("migrations (10 health");
    openSqlite(fresh).close();
    await requireCurrentSchema(location);
    rmSync(folder, { recursive: true });
  });

  test("are refused by a program that does not know an applied one, also between those it knows", () => {
    const known = [1, 10].map((version) => ({ version, name: "", release: "1.0.0" as const, sql: "" }));
    expect(() => pendingMigrations([1, 5, 10], known)).toThrow("schema version 5");
  });
});

test.each([
  ["3.51.2", false],
  ["3.9.9", false],
  ["2.99.99", false],
  ["3.51.3", true],
  ["3.52.0", true],
  ["4.0.0", true],
])("SQLite %s is safe to use: %p", (version, supported) => {
  const db = { query: () => ({ get: () => ({ version }) }) } as unknown as Database;
  expect(sqliteVersionOf(db)).toEqual({ version, supported });
});
