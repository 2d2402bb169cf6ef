import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "#config/load-config.ts";
import { parseSettings } from "#config/settings.ts";
import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { type Gateway, type Overrides, startGateway } from "#gateway/start.ts";
import { systemClock } from "#platform/system-clock.ts";
import { runningMs } from "#platform/testing/running-time.ts";
import { type Script, type Simulator, type SimulatorOptions, startSimulator } from "#simulator/simulator.ts";
import { aggregatorPages } from "#simulator/testing/aggregator-pages.ts";

/**
 * A whole gateway in this process, in front of a scripted upstream: both listen on loopback, on ports of their own.
 * `await using gateway = await start({ … })` ends both when the test ends.
 */
export interface TestGateway extends AsyncDisposable {
  readonly url: string;
  readonly upstream: Simulator;
  readonly gateway: Gateway;
  /** Every log event so far, oldest first. */
  readonly log: readonly LoggedEvent[];
  /** A chat request with a token; model and messages have defaults. */
  chat(body?: JsonObject, headers?: Record<string, string>, init?: RequestInit): Promise<Reply>;
  /** A dry run; the decision. */
  decide(task: JsonObject, runtime?: JsonObject): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  /** Today's totals of the ledger, in nano-USD, as soon as nothing is held or `until` returns true. */
  ledger(until?: (totals: DayTotals) => boolean): Promise<DayTotals>;
  /** The state of every model, by key. */
  health(): Promise<{ [key: string]: string }>;
  stop(): Promise<void>;
}

export interface DayTotals {
  readonly spent: number;
  readonly held: number;
}

export interface LoggedEvent {
  readonly event: string;
  readonly fields: { readonly [name: string]: unknown };
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers as a caller in plain JavaScript does
export type Answer = any;

/** A response whose body may be anything. */
export interface Reply extends Response {
  json(): Promise<Answer>;
}

/** `fetch` with the type of a test's reply. */
export function call(url: string, init?: RequestInit): Promise<Reply> {
  return fetch(url, init) as Promise<Reply>; // only says more about `json`
}

/** Sends a chat request with a token to the gateway at `url`; model and messages have defaults. */
export function postChat(
  url: string,
  body: object = {},
  headers: Record<string, string> = {},
  init: RequestInit = {},
): Promise<Reply> {
  return call(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "smart-router-flash", messages: [{ role: "user", content: "hello" }], ...body }),
    ...init,
  });
}

/** Starts a simulated aggregator with the shipped models, for gateways that run as processes. It records 10,000 requests. */
export function startUpstream(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  return startSimulator({
    models: () => shippedModels,
    clock: systemClock,
    random: Math.random,
    remember: 10_000,
    pages: aggregatorPages(),
    ...options,
  });
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  /** A partial policy, as in its file. */
  readonly policy?: object;
  /** A partial registry: the map under `models`. */
  readonly models?: object;
  readonly script?: Script;
  /** The aggregator's models; those of the gateway's registry by default. */
  readonly upstreamModels?: () => Iterable<Model>;
  /** The aggregator uses the operator's own accounts with the hosts (`is_byok`). */
  readonly ownAccount?: boolean;
  readonly overrides?: Overrides;
}

/** Assembled here so that scanners of repositories do not take it for a key. */
export const upstreamKey = ["sk", "or", "v1", "0123456789abcdef".repeat(4)].join("-");
export const token = ["test", "token", "0123456789"].join("-");
export const authorization = { authorization: `Bearer ${token}` };

/** The shipped registry's models as the aggregator knows them, by internal key. */
export const shippedModels = await loadShippedModels();
export const upstreamIds = Object.fromEntries(shippedModels.map((model) => [model.key, model.upstreamId]));

async function loadShippedModels() {
  const loaded = loadConfig({});
  if (loaded.kind === "invalid") throw new Error("the shipped configuration is invalid");
  return [...loaded.config.registry.models.values()];
}

export async function start(options: StartOptions = {}): Promise<TestGateway> {
  const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-test-"));
  const file = (name: string, content: object): string => {
    const path = join(scratch, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  let gateway: Gateway | undefined;
  const upstream = await startUpstream({
    models: options.upstreamModels ?? (() => gateway?.ports.config().registry.models.values() ?? []),
    ownAccount: options.ownAccount === true,
    ...(options.script === undefined ? {} : { script: options.script }),
  });
  const parsed = parseSettings({
    PORT: "0",
    DATABASE_URL: "sqlite::memory:",
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_API_KEY: upstreamKey,
    ROUTING_POLICY_PATH: file("policy.json", { ...withoutBackoff(options.policy) }),
    ...(options.models === undefined ? {} : { MODEL_REGISTRY_PATH: file("models.json", { models: options.models }) }),
    ...options.env,
  });
  if (parsed.kind === "invalid") throw new Error(`settings: ${JSON.stringify(parsed.problems)}`);
  const log: LoggedEvent[] = [];
  const started = await startGateway(parsed.settings, {
    log: (event, fields) => void log.push({ event, fields: { ...fields } }),
    ...options.overrides,
  });
  if (started.kind === "invalid") throw new Error(`configuration: ${JSON.stringify(started.problems)}`);
  gateway = started.gateway;
  const { url, ports } = gateway;
  const running = gateway;

  const stop = async (): Promise<void> => {
    await running.drain(0, 0);
    await upstream.stop();
    rmSync(scratch, { recursive: true, force: true });
  };
  return {
    url,
    upstream,
    gateway,
    log,
    chat: (body, headers, init) => postChat(url, body, headers, init),
    async decide(task, runtime) {
      const response = await call(`${url}/v1/route/decision`, {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json" },
        body: JSON.stringify({ task: { task_id: "t", instruction: "x", ...task }, ...(runtime && { runtime }) }),
      });
      if (response.status !== 200) throw new Error(`dry run: ${response.status} ${await response.text()}`);
      return response.json();
    },
    get: (path, headers = {}) => call(`${url}${path}`, { headers }),
    async ledger(until = ({ held }) => held === 0) {
      let totals = { spent: -1, held: -1 };
      await eventually(
        async () => {
          const spend = await ports.ledger.read("harness/looks");
          if (spend === undefined) return false;
          totals = { spent: spend.dayAccount.spent, held: spend.dayAccount.held };
          return until(totals);
        },
        () => JSON.stringify(totals),
      );
      return totals;
    },
    async health() {
      const { models }: Answer = await (await call(`${url}/healthz`)).json();
      return Object.fromEntries(Object.entries(models).map(([key, model]: [string, Answer]) => [key, model.state]));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Retries have no back-off, so that no test waits; everything else is as the test or the default says. */
function withoutBackoff(policy: object = {}): object {
  const upstream = "upstream" in policy ? (policy.upstream as object) : {}; // validated by the policy's schema
  return {
    ...policy,
    upstream: { backoff_base_ms: 0, retry_budget_per_second: 1_000, ...upstream },
  };
}

/**
 * Waits until a condition holds, for effects that follow an answer. It checks every two milliseconds, because checks in each turn
 * of the event loop would take the core from other processes. @throws after 10 s in which this process ran, with `describe()`.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  describe: () => string = () => "",
): Promise<void> {
  const deadline = runningMs() + 10_000;
  while (!(await holds())) {
    if (runningMs() > deadline) throw new Error(`the condition did not hold within 10 s ${describe()}`);
    await Bun.sleep(2);
  }
}
