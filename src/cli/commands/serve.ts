import type { CommandSpec } from "#cli/options.ts";
import { exitCodes, printText } from "#cli/output.ts";
import { type WorkerLink, workerLink } from "#cli/workers/channel.ts";
import { superviseWorkers, workerVariable } from "#cli/workers/supervisor.ts";
import { loadAuthKeys } from "#config/auth-keys.ts";
import { hostAndPort } from "#config/host-names.ts";
import { loadConfig } from "#config/load-config.ts";
import { formatProblems, type Problem } from "#config/problem.ts";
import { type ConfiguredFiles, parseSettings, type Settings } from "#config/settings.ts";
import { type Gateway, startGateway } from "#gateway/start.ts";
import { leaveMemoryOutOfCoreDumps } from "#platform/core-dumps.ts";
import { createLog, loggedError, logId, operatorText } from "#telemetry/log/log.ts";
import { sampleRequest, startMessage } from "./start-message.ts";

/** Runs the gateway until a signal stops it. */
export const commands: readonly CommandSpec[] = [
  {
    name: "serve",
    options: [["--json", "log as JSON, as LOG_FORMAT=json does"]],
    example: "UPSTREAM_API_KEY=… PORT=9000 smart-gateway serve",
    async run({ json }: { readonly json?: true }) {
      process.exit(await serve(json ? { ...process.env, LOG_FORMAT: "json" } : process.env));
    },
  },
];

const started = performance.now();

/** Runs until a signal ends it; resolves with the exit code. */
async function serve(env: NodeJS.ProcessEnv): Promise<number> {
  leaveMemoryOutOfCoreDumps();
  const parsed = parseSettings(env);
  // With LOG_FORMAT=json nothing else is printed, on neither output.
  const onlyJson = parsed.kind === "ok" ? parsed.settings.logFormat === "json" : env["LOG_FORMAT"] === "json";
  const fail = (message: string, code: number): number => {
    if (onlyJson) startLog("start_failed", { detail: operatorText(message) });
    else console.error(message);
    return code;
  };
  const startLog = createLog({ level: "fatal", format: "json", destination: process.stderr });
  const refuse = (problems: readonly Problem[]) => fail(formatProblems(problems), exitCodes.badUsage);
  if (parsed.kind === "invalid") return refuse([...parsed.problems, ...problemsInFiles(parsed.files)]);
  const { settings, warnings } = parsed;
  const worker = env[workerVariable];
  const pretty = settings.logFormat === "pretty" || (settings.logFormat === "auto" && process.stdout.isTTY === true);
  const log = createLog({
    level: settings.logLevel,
    format: pretty ? "pretty" : "json",
    nodeId: settings.nodeId,
    sharedOutput: settings.workers > 1,
  });
  try {
    if (settings.workers > 1 && worker === undefined) {
      // Printed once, and not by each of the workers.
      const problems = problemsInFiles(settings);
      return problems.length > 0 ? refuse(problems) : await superviseWorkers(settings, env, log);
    }
    const link = worker === undefined ? undefined : workerLink();
    for (const detail of warnings) log("settings_warning", { detail: operatorText(detail) });
    const outcome = await startGateway(settings, { log, ...(link === undefined ? {} : { workers: link }) });
    if (outcome.kind === "invalid") return refuse(outcome.problems);
    const { gateway } = outcome;
    // Beside JSON logs that nobody has asked for, the message goes to standard error.
    const say = onlyJson ? () => {} : pretty ? printText : console.error;
    if (worker === undefined || worker === "1") say(startMessage(gateway));
    log("gateway_started", {
      url: operatorText(gateway.url),
      mode: settings.upstream.kind,
      version: operatorText(gateway.version),
      node_id: logId(settings.nodeId),
      startup_ms: Math.round(performance.now() - started),
      ...(onlyJson ? { try: operatorText(sampleRequest(gateway)) } : {}),
    });
    link?.serves(gateway);
    const code = await untilStopped(gateway, settings, log, link);
    log("gateway_stopped", { uptime_s: Math.round((performance.now() - started) / 1_000) });
    return code;
  } catch (error) {
    log.flush();
    return fail(`Smart Gateway could not start: ${startProblem(error, settings)}`, exitCodes.failed);
  } finally {
    log.flush();
  }
}

/** The problems of the policy, the model registry and the list of keys. */
function problemsInFiles({ policyPath, registryPath, authKeysFile }: ConfiguredFiles) {
  const keys = authKeysFile === undefined ? undefined : loadAuthKeys(authKeysFile);
  const loaded = [loadConfig({ policyPath, registryPath }), keys];
  return loaded.flatMap((part) => (part?.kind === "invalid" ? part.problems : []));
}

/**
 * Waits for SIGTERM or Ctrl-C and drains; a second signal skips to flushing the ledger. An uncaught error drains too
 * and ends in exit code 1: a process that does not know its own state must not go on spending money.
 */
function untilStopped(
  gateway: Gateway,
  settings: Settings,
  log: ReturnType<typeof createLog>,
  link: WorkerLink | undefined,
): Promise<number> {
  return new Promise((resolve) => {
    const force = new AbortController();
    let stopping = false;
    const stop = (reason: string, code: number, acceptMs: number) => {
      if (stopping) return force.abort();
      stopping = true;
      // The gateway's timers and connections do not keep the process alive, and the ledger still has to be flushed.
      setInterval(() => {}, 60_000);
      log("gateway_draining", { signal: logId(reason), in_flight: gateway.http.streams.count });
      gateway.drain(acceptMs, settings.drainStreamsMs, force.signal).then(
        () => resolve(code),
        (error) => {
          log("task_failed", { task: logId("drain"), ...loggedError(error) });
          resolve(1);
        },
      );
    };
    process.on("SIGTERM", () => stop("SIGTERM", 0, settings.drainAcceptMs));
    // Ctrl-C comes from a terminal: no load balancer has to notice first.
    process.on("SIGINT", () => stop("SIGINT", 0, 0));
    process.on("SIGHUP", () => void gateway.reload());
    // A worker without its supervisor would keep the port from the next gateway, and nothing would stop it.
    link?.onOrphaned(() => stop("supervisor_gone", 1, 0));
    const onUncaught = (error: unknown) => {
      log("task_failed", { task: logId("uncaught"), ...loggedError(error) });
      stop("uncaught_error", 1, 0);
    };
    process.on("uncaughtException", onUncaught);
    process.on("unhandledRejection", onUncaught);
  });
}

/** The cause of a failed start in the operator's words; never a connection string. */
function startProblem(error: unknown, settings: Settings): string {
  if (!(error instanceof Error)) return "unknown error";
  const code = "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return `port ${settings.port} is taken. Set PORT to another one.`;
  if (code === "EACCES")
    return `no permission to listen on ${hostAndPort(settings.host, settings.port)}, or to open the database.`;
  return error.message.replace(/\/\/[^@/\s]*@/g, "//…@");
}
