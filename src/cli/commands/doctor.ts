import { Database } from "bun:sqlite";
import type { Command } from "commander";
import { exitCodes, type OutputOptions, print } from "#cli/output.ts";
import { loadAuthKeys } from "#config/auth-keys.ts";
import { type LoadedConfig, loadConfig } from "#config/load-config.ts";
import { formatProblems } from "#config/problem.ts";
import { type ConfiguredFiles, parseSettings } from "#config/settings.ts";
import { databaseLocationOf } from "#db/database-url.ts";
import { oldestSqliteVersion, sqliteVersionOf } from "#db/sqlite.ts";
import { maxStreams } from "#http/limits/overload.ts";
import { spentInDay } from "#upstream/aggregator.ts";
import { dependencies } from "../../../package.json";
import {
  type Check,
  checkMoney,
  checkPort,
  checkPostgres,
  checkPrices,
  checkSqlite,
  checkUpstream,
  fail,
  ok,
  warn,
} from "./doctor-checks.ts";

/** `smart-gateway doctor`: checks everything that a start depends on, and says how to fix what is wrong. */
export function setUpDoctor(command: Command): void {
  command
    .option("--offline", "contact no other machine")
    .addHelpText("after", "\nExample: smart-gateway doctor --offline --json")
    .action(async (options: OutputOptions & { readonly offline?: true }) => {
      const checks = await runChecks(options.offline === true);
      const failures = checks.filter(({ status }) => status === "fail");
      print({ ok: failures.length === 0, checks }, options, checks.map(lineOf).join("\n"));
      if (failures.length === 0) return;
      // A configuration that cannot be used has a code of its own.
      const configuration = failures.some(({ name }) => ["settings", "policy", "keys"].includes(name));
      process.exitCode = configuration ? exitCodes.badUsage : exitCodes.failed;
    });
}

async function runChecks(offline: boolean): Promise<readonly Check[]> {
  const parsed = parseSettings(process.env);
  const files: ConfiguredFiles = parsed.kind === "invalid" ? parsed.files : parsed.settings;
  const loaded = loadConfig({ policyPath: files.policyPath, registryPath: files.registryPath });
  const local = [checkPolicy(files, loaded), ...checkKeys(files), ...checkRuntime()];
  if (parsed.kind === "invalid") {
    return [fail("settings", formatProblems(parsed.problems), "see docs/reference/settings.md"), ...local];
  }
  const { settings, warnings } = parsed;
  const { upstream, databaseUrl } = settings;
  const database = databaseLocationOf(databaseUrl);
  const online = offline || upstream.kind === "demo" ? undefined : upstream;
  const asked = online === undefined ? { checks: [] } : await checkUpstream(online);
  const reachable = !offline || database.kind === "sqlite";
  return [
    ok("settings", upstream.kind === "demo" ? "demo mode, the upstream is simulated" : upstream.baseUrl),
    ...warnings.map((detail): Check => ({ name: "settings", status: "warn", detail })),
    ...local,
    ...(database.kind === "sqlite" ? [checkSqlite(database.path)] : offline ? [] : await checkPostgres(database.url)),
    ...asked.checks,
    // Problems of the files are reported by their own check.
    ...(reachable && loaded.kind === "ok" ? [await checkPrices(settings, loaded.config, online?.baseUrl)] : []),
    ...(reachable ? await checkMoney(databaseUrl, asked.usage && spentInDay(asked.usage)) : []),
    await checkPort(settings),
  ];
}

function checkPolicy({ policyPath, registryPath }: ConfiguredFiles, loaded: LoadedConfig): Check {
  if (loaded.kind === "invalid") return fail("policy", formatProblems(loaded.problems));
  const { caps, registry } = loaded.config;
  const files = [policyPath ?? "default policy", registryPath ?? "shipped models"].join(", ");
  return caps.goalHard === 0 || caps.dayHard === 0
    ? warn("policy", `${files}: a hard cap is zero, so that nothing may be spent`, "raise budget.*_hard_usd")
    : ok("policy", `${files}, ${registry.models.size} models`);
}

function checkKeys({ authKeysFile }: ConfiguredFiles): readonly Check[] {
  if (authKeysFile === undefined) return [];
  const loaded = loadAuthKeys(authKeysFile);
  if (loaded.kind === "invalid") return [fail("keys", formatProblems(loaded.problems))];
  return [ok("keys", `${loaded.keys.size} accepted tokens in ${authKeysFile}`)];
}

function checkRuntime(): readonly Check[] {
  const db = new Database(":memory:");
  const { version, supported } = sqliteVersionOf(db);
  db.close();
  const streams = maxStreams();
  const launcher = "start it with npm start or the smart-gateway command, which bring the pinned Bun";
  const lossy = `SQLite ${version} can lose committed pages: ${oldestSqliteVersion} or newer is needed`;
  const files = "raise the limit of open files: ulimit -n 65536, or LimitNOFILE= in the service";
  return [
    Bun.version === dependencies.bun
      ? ok("bun", `Bun ${Bun.version}`)
      : warn("bun", `Bun ${Bun.version}, tested with ${dependencies.bun}`, launcher),
    supported ? ok("sqlite", `SQLite ${version}`) : fail("sqlite", lossy, launcher),
    (streams >= 1_000 ? ok : warn)("limits", `room for ${streams} streams at once`, files),
  ];
}

function lineOf({ name, status, detail, advice }: Check): string {
  const mark = status === "ok" ? "ok" : status.toUpperCase();
  const lines = advice === undefined ? detail : `${detail}\n→ ${advice}`;
  return `${mark.padEnd(4)}  ${name.padEnd(9)} ${lines.replaceAll("\n", `\n${" ".repeat(16)}`)}`;
}
