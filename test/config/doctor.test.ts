import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteMigrations } from "#db/migrations.ts";
import { openSqlite } from "#db/sqlite.ts";
import { runCommand } from "../harness/command-line.ts";
import { start, startUpstream, upstreamKey } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const policy = join(folder, "policy.yaml");
writeFileSync(policy, "upstream:\n  price_book: on\n");

interface CheckRecord {
  readonly name: string;
  readonly status: string;
  readonly detail: string;
  readonly advice?: string;
}

async function doctor(env: Record<string, string>): Promise<{ code: number; checks: readonly CheckRecord[] }> {
  const { code, json } = await runCommand(["doctor", "--json"], {
    cwd: folder,
    env: {
      PORT: "0",
      UPSTREAM_API_KEY: upstreamKey,
      ROUTING_POLICY_PATH: policy,
      DATABASE_URL: `sqlite:${join(folder, "none.db")}`,
      ...env,
    },
  });
  return { code, checks: json().checks };
}
const named = (checks: readonly CheckRecord[], name: string) => checks.filter((check) => check.name === name);

describe("smart-gateway doctor on a database", () => {
  const check = async (file: string) => {
    const { code, checks } = await doctor({ DATABASE_URL: `sqlite:${file}`, UPSTREAM_API_KEY: "" });
    const [database] = named(checks, "database");
    return { code, status: database?.status, detail: database?.detail, advice: database?.advice };
  };

  test("that another process keeps locked fails, and says how to find it", async () => {
    const file = join(folder, "locked.db");
    const db = new Database(file);
    db.run("PRAGMA journal_mode = WAL");
    db.run("CREATE TABLE t (a)");
    expect(await check(file)).toMatchObject({ code: 0, status: "ok" });
    db.run("BEGIN IMMEDIATE");
    expect(await check(file)).toEqual({
      code: 1,
      status: "fail",
      detail: `${file} was locked by another process for 2 s`,
      advice: expect.stringContaining("fuser"),
    });
    db.run("ROLLBACK");
    db.close();
  });

  test("says which release its schema is of, and that an earlier one will be upgraded", async () => {
    const file = join(folder, "schema.db");
    const schemaOf = async () =>
      named((await doctor({ DATABASE_URL: `sqlite:${file}`, UPSTREAM_API_KEY: "" })).checks, "database")[1];
    openSqlite(
      file,
      sqliteMigrations.filter(({ release }) => release === "1.0.0"),
    ).close();
    expect(await schemaOf()).toMatchObject({ status: "warn", detail: "schema 10 of 1.0.0" });
    openSqlite(file).close();
    expect(await schemaOf()).toMatchObject({ status: "ok", detail: "schema 220 of 1.1.0" });
    const newer = new Database(file);
    newer.run("INSERT INTO schema_migration (version, name, applied_at) VALUES (9999, 'later', 'then')");
    newer.close();
    expect(await schemaOf()).toMatchObject({
      status: "fail",
      detail: expect.stringContaining("start a newer release"),
    });
  });
});

test("smart-gateway doctor asks the gateway that runs what it is, and warns where this environment differs", async () => {
  await using gateway = await start();
  const { code, checks } = await doctor({ PORT: new URL(gateway.url).port, UPSTREAM_API_KEY: "" });
  expect(code).toBe(0);
  expect(named(checks, "port")[0]?.detail).toMatch(/^a Smart Gateway answers at /);
  const [running] = named(checks, "gateway");
  expect([running?.status, running?.advice]).toEqual(["warn", expect.stringContaining("where the gateway runs")]);
  expect(running?.detail).toMatch(
    /^version \S+, commit \S+, mode with an upstream, database sqlite, configuration [0-9a-f]{16}, ok\n/,
  );
  expect(running?.detail).toContain("it differs: its mode is with an upstream, here demo");
  expect(running?.detail).toContain("it differs: its configuration is ");
});

describe("smart-gateway doctor, online", () => {
  test("checks upstream and key without a billed call, and creates no database", async () => {
    const upstream = await startUpstream({ apiKey: upstreamKey });
    upstream.spendElsewhere(1_250_000_000);
    const { code, checks } = await doctor({ UPSTREAM_BASE_URL: upstream.url });
    expect([code, checks.filter(({ status }) => status !== "ok").map(({ name }) => name)]).toEqual([0, []]);
    expect(named(checks, "upstream")[0]?.detail).toContain(`${upstream.url} answers`);
    expect(named(checks, "key")[0]?.detail).toBe("accepted; $1.25 spent with it today (UTC), no limit");
    expect(new Set(upstream.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
    expect(upstream.billedNanoUsd()).toBe(0);
    expect(existsSync(join(folder, "none.db"))).toBe(false);
    await upstream.stop();
  });
});
