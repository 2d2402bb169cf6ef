import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { parseSettings } from "#config/settings.ts";
import { type Gateway, startGateway } from "#gateway/start.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { type Simulator, startSimulator } from "#simulator/simulator.ts";
import { type Agent, agents } from "./agents.ts";
import { cacheFolder, install } from "./install.ts";
import { startRecordingProxy } from "./recording-proxy.ts";
import { type AgentReport, reportOf, tableOf } from "./report.ts";
import { scriptedAnswer, thinkingHostRefusal, thinkingRegistry } from "./scripted-model.ts";
import { type AgentSettings, documentedAddress, policyFile, settingsIn } from "./settings.ts";

/**
 * Runs coding agents against a gateway with the settings of docs/guides/agents.md, each in a scratch Git repository and a scratch
 * home folder, and prints what reached the gateway and what came of it. The upstream is a scripted model on loopback.
 */

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean" },
    list: { type: "boolean" },
    record: { type: "string" },
    seconds: { type: "string" },
    thinking: { type: "boolean" },
  },
});
if (options.help === true) {
  console.log(`node scripts/try-agents.mjs [NAME…]

  --list          the names of the agents, and their versions
  --record DIR    writes what each agent sent, got and printed to DIR; it holds whole prompts
  --seconds N     time for one agent's run; default 180
  --thinking      several turns with tools, and hosts that answer 400 where messages come back without their reasoning, as DeepSeek's
                  does, or with it; each is down for one turn

Agents are installed in ${cacheFolder} and kept there.`);
  process.exit(0);
}
if (options.list === true) {
  for (const { name, packages } of agents) console.log(`${name.padEnd(18)}${packages.join(" ")}`);
  process.exit(0);
}
const unknown = wanted.filter((name) => !agents.some((agent) => agent.name === name));
if (unknown.length > 0) {
  console.error(`No such agent: ${unknown.join(", ")}. --list shows their names.`);
  process.exit(2);
}

const page = readFileSync(join(import.meta.dir, "..", "..", "docs", "guides", "agents.md"), "utf8");
const documented = settingsIn(page);
const timeoutMs = Number(options.seconds ?? 180) * 1_000;
const reports: AgentReport[] = [];
for (const agent of agents) {
  if (wanted.length > 0 && !wanted.includes(agent.name)) continue;
  console.error(`${agent.name} …`);
  const report = await tryAgent(agent);
  reports.push(report);
  console.error(tableOf([report]));
}
console.log(tableOf(reports));
process.exit(0);

async function tryAgent(agent: Agent): Promise<AgentReport> {
  if (agent.notTried !== undefined) return reportOf(agent, { kind: "not_tried", reason: agent.notTried });
  const settings = documented.get(agent.name);
  if (settings === undefined)
    return reportOf(agent, { kind: "not_tried", reason: "docs/guides/agents.md has no settings" });
  const installed = await install(agent);
  if (installed.kind === "failed") return reportOf(agent, { kind: "not_installed", reason: installed.reason });

  const scratch = mkdtempSync(join(cacheFolder, `run-${agent.name}-`));
  const { gateway, simulator } = await startScripted(scratch, settings);
  try {
    await using proxy = await startRecordingProxy(gateway.url);
    const repository = join(scratch, "repository");
    const home = join(scratch, "home");
    makeRepository(repository, home);
    writeSettings(settings, repository, home, proxy.url);
    const environment = {
      PATH: `${installed.path}:${process.env["PATH"]}`,
      HOME: home,
      TMPDIR: scratch,
      LANG: "C.UTF-8",
      TERM: "dumb",
      DO_NOT_TRACK: "1",
    };
    const script = settings.commands.map((command) => command.replaceAll(documentedAddress, proxy.url)).join("\n");
    const run = await runScript(script, repository, environment);
    const exchanges = proxy.exchanges();
    if (options.record !== undefined) {
      const folder = join(options.record, agent.name);
      mkdirSync(folder, { recursive: true });
      const plain = exchanges.map(({ request, answer }) => ({ request: shown(request), answer: shown(answer) }));
      writeFileSync(join(folder, "exchanges.json"), JSON.stringify(plain, null, 2));
      writeFileSync(join(folder, "output.txt"), run.output);
      writeFileSync(join(folder, "calc.py"), readFileSync(join(repository, "calc.py")));
    }
    const spent = (await gateway.ports.ledger.read("scripts/none"))?.dayAccount.spent ?? 0;
    const files = spawnSync("git", ["status", "--porcelain", "--untracked-files=all"], {
      cwd: repository,
      encoding: "utf8",
    });
    return reportOf(agent, {
      kind: "ran",
      ...run,
      exchanges,
      calc: readFileSync(join(repository, "calc.py"), "utf8"),
      changed: files.stdout.split("\n").filter((line) => line !== ""),
      spentNanoUsd: spent,
      billedNanoUsd: simulator.billedNanoUsd(),
    });
  } finally {
    await gateway.drain(0, 0);
    await simulator.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function shown(message: { start: string; headers: ReadonlyMap<string, string>; body: string } | undefined) {
  return message && { start: message.start, headers: Object.fromEntries(message.headers), body: message.body };
}

async function startScripted(
  scratch: string,
  { files }: AgentSettings,
): Promise<{ gateway: Gateway; simulator: Simulator }> {
  let gateway: Gateway | undefined;
  const models = () => [...(gateway?.ports.config().registry.models.values() ?? [])];
  const isScout = (id: unknown) => models().some((model) => model.role === "scout" && model.upstreamId === id);
  const thinking = options.thinking === true;
  const turns = thinking ? 4 : 1;
  const simulator = await startSimulator({
    models,
    clock: systemClock,
    random: Math.random,
    timers: timerWheel({ clock: systemClock }),
    script: (request) =>
      (thinking ? thinkingHostRefusal(request) : undefined) ?? scriptedAnswer(request, isScout, turns),
  });
  const policy = files.find(({ path }) => path === policyFile);
  if (policy !== undefined) writeFileSync(join(scratch, "policy.yaml"), policy.text);
  if (thinking) writeFileSync(join(scratch, "models.yaml"), thinkingRegistry);
  const parsed = parseSettings({
    ...(thinking ? { MODEL_REGISTRY_PATH: join(scratch, "models.yaml") } : {}),
    ...(policy === undefined ? {} : { ROUTING_POLICY_PATH: join(scratch, "policy.yaml") }),
    PORT: "0",
    DATABASE_URL: `sqlite:${join(scratch, "gateway.db")}`,
    UPSTREAM_BASE_URL: simulator.url,
    UPSTREAM_API_KEY: "scripted-upstream",
  });
  if (parsed.kind === "invalid") throw new Error(`settings: ${JSON.stringify(parsed.problems)}`);
  const started = await startGateway(parsed.settings);
  if (started.kind === "invalid") throw new Error(`configuration: ${JSON.stringify(started.problems)}`);
  gateway = started.gateway;
  return { gateway, simulator };
}

function makeRepository(repository: string, home: string): void {
  mkdirSync(repository, { recursive: true });
  mkdirSync(home, { recursive: true });
  const files = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "README.md": "# calc\n\nSmall sums.\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(repository, name), text);
  writeFileSync(join(home, ".gitconfig"), "[user]\n  name = Someone\n  email = someone@example.com\n");
  const git = (...args: string[]) => spawnSync("git", args, { cwd: repository, env: { ...process.env, HOME: home } });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "Start");
}

function writeSettings({ files }: AgentSettings, repository: string, home: string, url: string): void {
  for (const { path, text } of files) {
    if (path === policyFile) continue;
    const target = path.startsWith("~/") ? join(home, path.slice(2)) : join(repository, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replaceAll(documentedAddress, url));
  }
}

interface Run {
  readonly code: number | undefined;
  readonly output: string;
  readonly seconds: number;
}

/** Runs a script to its end or to the time limit, then ends every process of its group. */
function runScript(script: string, cwd: string, env: Record<string, string>): Promise<Run> {
  const from = performance.now();
  return new Promise((resolve) => {
    const child = spawn("bash", ["-c", script], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let code: number | undefined;
    const endGroup = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The group has ended by itself.
      }
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output += String(bytes)));
    const limit = setTimeout(endGroup, timeoutMs);
    child.on("exit", (exitCode) => {
      code = exitCode ?? undefined;
      endGroup(); // a server that the agent left running would keep the output open
    });
    child.on("close", () => {
      clearTimeout(limit);
      resolve({ code, output, seconds: Math.round((performance.now() - from) / 1_000) });
    });
  });
}
