import { Database } from "bun:sqlite";
import { Command } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { loadAuthKeys } from "#config/auth-keys.ts";
import { loadConfig } from "#config/load-config.ts";
import { formatProblems } from "#config/problem.ts";
import { type ConfiguredFiles, parseSettings, type Settings } from "#config/settings.ts";
import { oldestSqliteVersion, sqliteVersionOf } from "#db/sqlite.ts";
import { maxStreams } from "#http/limits/resource-limits.ts";
import { readText } from "#http/limits/shedding.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Timers } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { readModelList, spentInDay } from "#upstream/aggregator.ts";
import { dependencies } from "../../../../package.json";
import type { Check } from "./check.ts";
import { checkPostgres, checkSqlite } from "./check-database.ts";
import { checkMoney } from "./check-money.ts";
import { checkPort } from "./check-port.ts";
import { pricesCheck } from "./check-prices.ts";
import { checkUpstream } from "./check-upstream.ts";

/** `smart-gateway doctor`: checks everything that a start depends on, and says how to fix what is wrong. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description(
      "check settings, files, database, clock, limits, upstream, key, prices and budgets, and say how to fix problems",
    )
    .option("--offline", "contact no other machine")
    .option("--json", "print {ok, checks}")
    .action(async (options: { readonly offline?: true; readonly json?: true }) => {
      const checks = await runChecks(process.env, { offline: options.offline === true });
      const failed = checks.some(({ status }) => status === "fail");
      if (options.json) printJson({ ok: !failed, checks });
      else for (const check of checks) print(lineOf(check));
      if (!failed) return;
      // A configuration that cannot be used has a code of its own.
      const configuration = checks.some(
        ({ name, status }) => status === "fail" && ["settings", "policy", "keys"].includes(name),
      );
      exitWith(configuration ? exitCodes.badUsage : exitCodes.failed);
    });
}

async function runChecks(env: NodeJS.ProcessEnv, { offline }: { offline: boolean }): Promise<Check[]> {
  const parsed = parseSettings(env);
  const runtime = [bunVersion(), sqliteVersion(), descriptors()];
  if (parsed.kind === "invalid") {
    const advice = "see docs/reference/settings.md";
    return [
      { name: "settings", status: "fail", detail: formatProblems(parsed.problems), advice },
      await policy(parsed.files),
      ...keys(parsed.files),
      ...runtime,
    ];
  }
  const { settings, warnings } = parsed;
  const mode = settings.upstream.kind === "demo" ? "demo mode, the upstream is simulated" : settings.upstream.baseUrl;
  return [
    { name: "settings", status: "ok", detail: mode },
    ...warnings.map((detail): Check => ({ name: "settings", status: "warn", detail })),
    await policy(settings),
    ...keys(settings),
    ...runtime,
    ...(settings.databaseUrl.startsWith("sqlite:")
      ? [checkSqlite(settings.databaseUrl.slice("sqlite:".length))]
      : offline
        ? []
        : await checkPostgres(settings.databaseUrl)),
    ...(await moneyAndUpstream(settings, offline)),
    await checkPort(settings),
  ];
}

async function moneyAndUpstream(settings: Settings, offline: boolean): Promise<Check[]> {
  const reachable = !offline || settings.databaseUrl.startsWith("sqlite:");
  const { upstream } = settings;
  const asked =
    offline || upstream.kind === "demo" ? { checks: [] } : await checkUpstream(upstream, systemClock, timers());
  const counted = asked.usage === undefined ? undefined : spentInDay(asked.usage);
  return [
    ...asked.checks,
    ...(reachable ? await prices(settings, offline) : []),
    ...(reachable ? await checkMoney(settings.databaseUrl, counted, Date.now()) : []),
  ];
}

function timers(): Timers {
  return timerWheel({ clock: systemClock });
}

async function policy({ policyPath, registryPath }: ConfiguredFiles): Promise<Check> {
  const loaded = await loadConfig({ policyPath, registryPath });
  if (loaded.kind === "invalid") return { name: "policy", status: "fail", detail: formatProblems(loaded.problems) };
  const { caps, registry } = loaded.config;
  const files = [policyPath ?? "default policy", registryPath ?? "shipped models"].join(", ");
  if (caps.goalHard === 0 || caps.dayHard === 0) {
    return {
      name: "policy",
      status: "warn",
      detail: `${files}: a hard cap is zero, so that nothing may be spent`,
      advice: "raise budget.*_hard_usd",
    };
  }
  return { name: "policy", status: "ok", detail: `${files}, ${registry.models.size} models` };
}

async function prices(settings: Settings, offline: boolean): Promise<Check[]> {
  const { policyPath, registryPath, upstream } = settings;
  const loaded = await loadConfig({ policyPath, registryPath });
  // Problems of the files are reported by their own check.
  if (loaded.kind === "invalid") return [];
  const list =
    offline || upstream.kind === "demo"
      ? undefined
      : () => readModelList({ baseUrl: upstream.baseUrl, clock: systemClock, timers: timers(), timeoutMs: 8_000 });
  return [await pricesCheck(settings, loaded.config, list, Date.now())];
}

function keys({ authKeysFile }: ConfiguredFiles): Check[] {
  if (authKeysFile === undefined) return [];
  const loaded = loadAuthKeys(authKeysFile);
  if (loaded.kind === "invalid") return [{ name: "keys", status: "fail", detail: formatProblems(loaded.problems) }];
  return [{ name: "keys", status: "ok", detail: `${loaded.keys.size} accepted tokens in ${authKeysFile}` }];
}

function bunVersion(): Check {
  const detail = `Bun ${Bun.version}`;
  if (Bun.version === dependencies.bun) return { name: "bun", status: "ok", detail };
  const advice = "start it with npm start or the smart-gateway command, which bring the pinned Bun";
  return { name: "bun", status: "warn", detail: `${detail}, tested with ${dependencies.bun}`, advice };
}

function sqliteVersion(): Check {
  const db = new Database(":memory:");
  const { version, supported } = sqliteVersionOf(db);
  db.close();
  if (supported) return { name: "sqlite", status: "ok", detail: `SQLite ${version}` };
  const advice = "use the pinned Bun, which brings a newer one";
  return {
    name: "sqlite",
    status: "fail",
    detail: `SQLite ${version} can lose committed pages: ${oldestSqliteVersion} or newer is needed`,
    advice,
  };
}

function descriptors(): Check {
  const streams = maxStreams(readText);
  const detail = `room for ${streams} streams at once`;
  if (streams >= 1_000) return { name: "limits", status: "ok", detail };
  return {
    name: "limits",
    status: "warn",
    detail,
    advice: "raise the limit of open files: ulimit -n 65536, or LimitNOFILE= in the service",
  };
}

function lineOf({ name, status, detail, advice }: Check): string {
  const mark = { ok: "ok  ", warn: "WARN", fail: "FAIL" }[status];
  const lines = [`${mark}  ${name.padEnd(9)} ${detail.replaceAll("\n", "\n                ")}`];
  if (advice !== undefined) lines.push(`                → ${advice}`);
  return lines.join("\n");
}
