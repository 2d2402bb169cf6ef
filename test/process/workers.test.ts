import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, call, eventually, postChat } from "../harness/gateway.ts";
import { childrenOf, freePort, type GatewayProcess, serve, serveToEnd } from "../harness/process.ts";

/** Several worker processes on one port: they report as one gateway, and the death of one is no outage. */

const onLinux = test.skipIf(process.platform !== "linux");
/** Each test starts up to six processes, which takes seconds on a busy machine. In milliseconds. */
const testTimeoutMs = 60_000;

async function withWorkers(env: Record<string, string> = {}): Promise<GatewayProcess> {
  const gateway = await serve({ WORKERS: "2", PORT: String(await freePort()), ...env });
  await eventually(() => started(gateway) === 2);
  return gateway;
}

const started = (gateway: GatewayProcess) => gateway.output().split('"event":"gateway_started"').length - 1;

/** Each request on a new connection, so that the system selects a worker again. */
const get = (gateway: GatewayProcess, path: string) =>
  call(`${gateway.url}${path}`, { headers: { connection: "close" } });

async function metric(gateway: GatewayProcess, name: string): Promise<number> {
  const response = await get(gateway, "/metrics");
  expect(response.status).toBe(200);
  const text = await response.text();
  return text
    .split("\n")
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const chat = (gateway: GatewayProcess) => postChat(gateway.url, { model: "smart-router" }, { connection: "close" });

async function chatTwelveTimes(gateway: GatewayProcess): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 12 }, () => chat(gateway)));
  for (const { status } of answers) expect(status).toBe(200);
}

function exists(pid: number): boolean {
  try {
    // A zombie that its new parent has not reaped yet counts as ended.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function events(gateway: GatewayProcess, event: string): Answer[] {
  return gateway
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line));
}

describe("workers", () => {
  onLinux(
    "whichever is asked, /metrics and /healthz speak of the whole gateway",
    async () => {
      await using gateway = await withWorkers();
      await chatTwelveTimes(gateway);
      for (let look = 0; look < 8; look++) expect(await metric(gateway, "smart_gateway_requests_total")).toBe(12);
      expect(await metric(gateway, 'smart_gateway_workers{state="serving"}')).toBe(2);
      for (let look = 0; look < 4; look++) {
        const body: Answer = await (await get(gateway, "/healthz")).json();
        expect(body).toMatchObject({ status: "ok", workers: { wanted: 2, serving: 2 } });
      }

      // A hanging worker delays a scrape by a second at most, and counts with its last values.
      const [hung = 0] = childrenOf(gateway.child.pid);
      process.kill(hung, "SIGSTOP");
      const looks = new AbortController();
      try {
        // The system still assigns connections to the hanging worker; some reach the other.
        const texts: string[] = [];
        for (let look = 0; look < 24; look++) {
          call(`${gateway.url}/metrics`, { headers: { connection: "close" }, signal: looks.signal })
            .then((response) => response.text())
            .then(
              (text) => texts.push(text),
              () => undefined, // the hanging worker's
            );
        }
        await eventually(() => texts.length > 0);
        for (const text of texts) {
          const totals = [...text.matchAll(/^smart_gateway_requests_total.* (\d+)$/gm)];
          expect(totals.reduce((sum, [, total]) => sum + Number(total), 0)).toBe(12);
        }
      } finally {
        looks.abort();
        process.kill(hung, "SIGCONT");
      }
    },
    testTimeoutMs,
  );

  onLinux(
    "one that dies is logged, missed in /healthz and started anew; its counters are kept",
    async () => {
      await using gateway = await withWorkers();
      await chatTwelveTimes(gateway);
      expect(await metric(gateway, "smart_gateway_requests_total")).toBe(12);
      // Twice, each soon after the start: that used to stop all workers.
      for (const deaths of [1, 2]) {
        const [worker] = childrenOf(gateway.child.pid).toSorted((a, b) => b - a);
        process.kill(worker ?? 0, "SIGKILL");
        await eventually(() => events(gateway, "worker_exited").length === deaths);
        const [exit] = events(gateway, "worker_exited").slice(-1);
        expect(exit).toMatchObject({ pid: worker, signal: "SIGKILL", started: true, restart_in_ms: 500 * deaths });
        const body: Answer = await (await get(gateway, "/healthz")).json();
        expect(body).toMatchObject({ status: "degraded", workers: { wanted: 2, serving: 1 } });
        expect((await chat(gateway)).status).toBe(200);
        expect(await metric(gateway, "smart_gateway_requests_total")).toBe(12 + deaths);
        await eventually(() => started(gateway) === 2 + deaths);
      }
      expect(await metric(gateway, "smart_gateway_worker_exits_total")).toBe(2);
      await eventually(async () => (await (await get(gateway, "/healthz")).json()).status === "ok");
    },
    testTimeoutMs,
  );

  onLinux(
    "end with their supervisor, killed as it may be, and let the port go",
    async () => {
      await using gateway = await withWorkers();
      const workers = childrenOf(gateway.child.pid);
      expect(workers.length).toBe(2);
      gateway.signal("SIGKILL");
      await eventually(() => !workers.some(exists));
      await using next = await withWorkers({ PORT: new URL(gateway.url).port });
      expect((await chat(next)).status).toBe(200);
    },
    testTimeoutMs,
  );

  onLinux(
    "that all fail in the same way at every start are given up after three",
    async () => {
      const env = { WORKERS: "2", PORT: String(await freePort()), LOG_FORMAT: "json" };
      const { code, output } = await serveToEnd({ ...env, DATABASE_URL: "sqlite:/proc/nowhere/gateway.db" });
      expect(code).toBe(1);
      expect(output.split("could not start").length - 1).toBeGreaterThanOrEqual(6);
      expect(output).toContain('"event":"worker_exited"');
    },
    testTimeoutMs,
  );

  onLinux(
    "a policy that has gone bad on disk does not end the others when one dies",
    async () => {
      await using scratch = await serve();
      const file = join(scratch.directory, "policy.yaml");
      writeFileSync(file, "{}\n");
      await using gateway = await withWorkers({ ROUTING_POLICY_PATH: file });
      writeFileSync(file, "routing: { pro_form: 10 }\n");
      process.kill(childrenOf(gateway.child.pid)[0] ?? 0, "SIGKILL");
      await eventually(() => events(gateway, "worker_exited").some(({ code, started }) => code === 2 && !started));
      expect((await chat(gateway)).status).toBe(200);
      writeFileSync(file, "{}\n");
      await eventually(() => started(gateway) === 3);
    },
    testTimeoutMs,
  );
});

onLinux(
  "of two gateways started on one port at once, one fails to start, and so does a later one",
  async () => {
    const port = String(await freePort());
    const outcomes = await Promise.all(
      [0, 1].map(() =>
        serve({ WORKERS: "2", PORT: port }).then(
          (running) => ({ running, problem: "" }),
          (error: Error) => ({ running: undefined, problem: error.message }),
        ),
      ),
    );
    const [winner] = outcomes.flatMap(({ running }) => running ?? []);
    const { code, output } = await serveToEnd({ PORT: port });
    await winner?.[Symbol.asyncDispose]();
    expect([code, output]).toEqual([1, expect.stringContaining("is taken")]);
    expect(outcomes.filter(({ running }) => running !== undefined)).toHaveLength(1);
    expect(outcomes.map(({ problem }) => problem).join("")).toContain("is taken");
  },
  testTimeoutMs,
);
