import { existsSync } from "node:fs";
import { commit, version } from "#build.ts";
import type { CommandSpec } from "#cli/options.ts";
import { codeFor, exitCodes, type Result } from "#cli/output.ts";
import { loadAuthKeys } from "#config/auth-keys.ts";
import { configHash } from "#config/config-changes.ts";
import { hostAndPort } from "#config/host-names.ts";
import { type Config, loadConfig } from "#config/load-config.ts";
import { formatProblems, oneLine } from "#config/problem.ts";
import { type ConfiguredFiles, parseSettings, type Settings } from "#config/settings.ts";
import { databaseLocationOf } from "#db/database-url.ts";
import { schemaOf } from "#db/schema-version.ts";
import { maxStreams } from "#http/limits/overload.ts";
import { dependencies } from "../../../package.json";
import { type Check, checkPostgres, checkSqlite, checkUpstream, errorCode, fail, ok, warn } from "./doctor-checks.ts";
import { type RunningGateway, runningGateway } from "./healthcheck.ts";

export const commands: readonly CommandSpec[] = [
  {
    name: "doctor",
    options: [["--offline", "contact no other machine"]],
    example: "smart-gateway doctor --offline --json",
    async run({ offline, envFile }: { readonly offline?: true; readonly envFile?: string }): Promise<Result> {
      const unread = envFile === undefined && existsSync(".env");
      const checks = [...(unread ? [unreadFile] : []), ...(await runChecks(offline === true))];
      const failures = checks.filter(({ status }) => status === "fail").map(({ name }) => name);
      const ok = failures.length === 0;
      const isConfiguration = failures.some((name) => ["settings", "policy", "keys"].includes(name));
      const exitCode = isConfiguration ? exitCodes.badUsage : codeFor(ok);
      return { value: { ok, checks }, text: checks.map(lineOf).join("\n"), exitCode };
    },
  },
];

const unreadFile = warn(
  "settings",
  "there is a .env in this folder, and no part of the gateway reads it on its own",
  "name it: --env-file .env, for this command and for serve",
);

async function runChecks(offline: boolean): Promise<readonly Check[]> {
  const parsed = parseSettings(process.env);
  const files: ConfiguredFiles = parsed.kind === "invalid" ? parsed.files : parsed.settings;
  const loaded = loadConfig({ policyPath: files.policyPath, registryPath: files.registryPath });
  const config = loaded.kind === "ok" ? loaded.config : undefined;
  const names = [files.policyPath ?? "default policy", files.registryPath ?? "shipped models"].join(", ");
  const policy = loaded.kind === "ok" ? ok("policy", names) : fail("policy", formatProblems(loaded.problems));
  const local = [policy, ...checkKeys(files), ...checkRuntime()];
  if (parsed.kind === "invalid") {
    return [fail("settings", formatProblems(parsed.problems), "see docs/reference/settings.md"), ...local];
  }
  const { settings, warnings } = parsed;
  const { upstream, databaseUrl } = settings;
  const database = databaseLocationOf(databaseUrl);
  return [
    ok("settings", upstream.kind === "demo" ? "demo mode, the upstream is simulated" : upstream.baseUrl),
    ...[...warnings, ...(loaded.kind === "ok" ? loaded.warnings.map(oneLine) : [])].map(
      (detail): Check => ({ name: "settings", status: "warn", detail }),
    ),
    ok("build", `version ${version}, commit ${commit()}`),
    ...local,
    ...(database.kind === "sqlite" ? [checkSqlite(database.path)] : offline ? [] : await checkPostgres(database.url)),
    ...(offline && database.kind === "postgres"
      ? []
      : (await schemaOf(database)).map((found) => ({ name: "database", ...found }))),
    ...(offline || upstream.kind === "demo" ? [] : await checkUpstream(upstream)),
    ...(await checkGateway(settings, config)),
  ];
}

function checkKeys({ authKeysFile }: ConfiguredFiles): readonly Check[] {
  if (authKeysFile === undefined) return [];
  const loaded = loadAuthKeys(authKeysFile);
  if (loaded.kind === "invalid") return [fail("keys", formatProblems(loaded.problems))];
  return [ok("keys", `${loaded.value.size} accepted tokens in ${authKeysFile}`)];
}

function checkRuntime(): readonly Check[] {
  const streams = maxStreams();
  const launcher = "start it with npm start or the smart-gateway command, which bring the pinned Bun";
  const files = "raise the limit of open files: ulimit -n 65536, or LimitNOFILE= in the service";
  return [
    Bun.version === dependencies.bun
      ? ok("bun", `Bun ${Bun.version}`)
      : warn("bun", `Bun ${Bun.version}, tested with ${dependencies.bun}`, launcher),
    (streams >= 1_000 ? ok : warn)("limits", `room for ${streams} streams at once`, files),
  ];
}

/** Whether a gateway can listen at its address; of one that answers already, what differs from this environment. */
async function checkGateway(settings: Settings, config: Config | undefined): Promise<readonly Check[]> {
  const { host, port } = settings;
  if (port === 0) return [ok("port", "any free port")];
  const address = hostAndPort(host, port);
  try {
    Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } }).stop(true);
    return [ok("port", `${address} is free`)];
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EADDRINUSE") return [fail("port", `${address} ${code}`, "check HOST and PORT")];
  }
  const running = await runningGateway(host, port);
  if (running === undefined) {
    return [warn("port", `${address} is taken by another program`, "end that program, or set PORT")];
  }
  const { state, reason } = running.health.config ?? {};
  const refused = `it has refused the files and goes on with the last good ones: ${reason}`;
  return [
    ok("port", `a Smart Gateway answers at ${address}`),
    checkRunning(running, settings, config),
    ...(state === "refused" ? [warn("gateway", refused, "`policy check` says what is wrong")] : []),
  ];
}

/** What the gateway that runs is, and that this environment would not make it. */
function checkRunning({ health, demo }: RunningGateway, settings: Settings, config: Config | undefined): Check {
  const { hash, state } = health.config ?? {};
  const mode = (isDemo: boolean) => (isDemo ? "demo" : "with an upstream");
  const facts: readonly (readonly [what: string, its: string | undefined, ours: string | undefined])[] = [
    ["version", health.version, version],
    ["commit", health.commit, commit()],
    ["mode", mode(demo), mode(settings.upstream.kind === "demo")],
    ["database", health.database.kind, databaseLocationOf(settings.databaseUrl).kind],
    ["configuration", hash, config === undefined || state === "refused" ? hash : configHash(config)],
  ];
  const about = [...facts.map(([what, its]) => `${what} ${its}`), health.status].join(", ");
  const others = facts.filter(([, its, ours]) => its !== ours);
  if (others.length === 0) return ok("gateway", about);
  const differences = others.map(([what, its, ours]) => `\nit differs: its ${what} is ${its}, here ${ours}`);
  const advice = "run this where the gateway runs, with its environment, or restart the gateway with this one";
  return warn("gateway", about + differences.join(""), advice);
}

function lineOf({ name, status, detail, advice }: Check): string {
  const mark = status === "ok" ? "ok" : status.toUpperCase();
  const lines = advice === undefined ? detail : `${detail}\n→ ${advice}`;
  return `${mark.padEnd(4)}  ${name.padEnd(9)} ${lines.replaceAll("\n", `\n${" ".repeat(16)}`)}`;
}
