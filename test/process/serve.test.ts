import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completes } from "#simulator/behaviours.ts";
import { after, chunk, silent, streams } from "#simulator/testing/scripted.ts";
import { authorization, call, eventually, postChat, startUpstream } from "../harness/gateway.ts";
import { childrenOf, freePort, type GatewayProcess, serve, serveToEnd } from "../harness/process.ts";

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-serve-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function ready(gateway: GatewayProcess): Promise<number> {
  return (await call(`${gateway.url}/readyz`)).status;
}

/** A PostgreSQL server that knows nobody: one that cannot be reached is waited for. */
async function refusingPostgres() {
  const fields = ["SFATAL", "C28P01", "Mnobody may come in", ""].map((field) => `${field}\0`).join("");
  const error = Buffer.concat([Buffer.from("E"), Buffer.alloc(4), Buffer.from(fields)]);
  error.writeInt32BE(error.length - 1, 1);
  const server = createServer((socket) => socket.on("data", () => void socket.end(error)).on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

describe("the process", () => {
  test("without settings it is a demo, says so, and keeps its ledger in ./data", async () => {
    await using gateway = await serve();
    const reply = await postChat(gateway.url);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-smart-gateway-demo")).toBe("true");
    expect((await reply.json()).choices[0].message.content).toContain("simulated");
    expect(gateway.output()).toContain("DEMO MODE");
    expect(gateway.output()).toContain(`curl -i ${gateway.url}/v1/chat/completions`);
    expect(existsSync(join(gateway.directory, "data", "gateway.db"))).toBe(true);
  });

  test("with LOG_FORMAT=json prints nothing but JSON on either output, when it starts and when it cannot", async () => {
    await using gateway = await serve({ LOG_FORMAT: "json" });
    await using refusing = await refusingPostgres();
    gateway.signal("SIGTERM");
    expect(await gateway.exited()).toBe(0);
    const outputs = [
      gateway.output(),
      (await serveToEnd({ LOG_FORMAT: "json", PORT: "eighty" })).output,
      (await serveToEnd({ LOG_FORMAT: "json", ROUTING_POLICY_PATH: "none.yaml" })).output,
      (await serveToEnd({ LOG_FORMAT: "json", DATABASE_URL: `postgres://${refusing.address}/x` })).output,
    ];
    const events = outputs.map((output) =>
      output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    );
    expect(events[0]?.[0]).toMatchObject({ event: "ledger_created" });
    expect(events[0]?.map(({ event }) => event)).toContain("gateway_stopped");
    const failed = { event: "start_failed", level: "fatal" };
    for (const [says, ...lines] of [
      ["PORT", ...(events[1] ?? [])],
      ["none.yaml", ...(events[2] ?? [])],
    ] as const)
      expect(lines).toEqual([expect.objectContaining({ ...failed, detail: expect.stringContaining(says) })]);
    expect(events[3]?.at(-1)).toMatchObject(failed);
  });

  test("with an upstream the simulator cannot be reached and nothing is marked as demo", async () => {
    const simulator = await startUpstream();
    await using gateway = await serve({ UPSTREAM_BASE_URL: simulator.url });
    const reply = await postChat(gateway.url);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-smart-gateway-demo")).toBeNull();
    expect(simulator.received()).toBe(1);
    expect(gateway.output()).not.toContain("DEMO MODE");
    expect(gateway.output()).toContain("without UPSTREAM_API_KEY");
    await simulator.stop();
  });

  test.skipIf(process.platform !== "linux")("and its workers leave their memory out of core dumps", async () => {
    await using gateway = await serve({ WORKERS: "2", PORT: String(await freePort()) });
    const filter = (pid: number) => Number.parseInt(readFileSync(`/proc/${pid}/coredump_filter`, "utf8"), 16);
    const { pid } = gateway.child;
    await eventually(() => childrenOf(pid).length >= 2);
    for (const each of [pid, ...childrenOf(pid)]) expect([each, filter(each)]).toEqual([each, 0]);
  });

  test("a budget store that refuses is named, without its password, with exit code 1", async () => {
    const password = ["pass", "word", "1234"].join("-");
    await using refusing = await refusingPostgres();
    const url = `postgres://gateway:${password}@${refusing.address}/x`;
    const { code, output } = await serveToEnd({ DATABASE_URL: url });
    expect(code).toBe(1);
    expect(output).toContain("budget store");
    expect(output).toContain("DATABASE_URL");
    expect(output).not.toContain(password);
  });

  test("SIGHUP reloads the policy", async () => {
    const file = join(folder, "policy.yaml");
    writeFileSync(file, "budget: { per_goal_hard_usd: 5 }\n");
    await using gateway = await serve({ ROUTING_POLICY_PATH: file });
    const decide = async () =>
      (
        await call(`${gateway.url}/v1/route/decision`, {
          method: "POST",
          headers: { ...authorization, "content-type": "application/json" },
          body: JSON.stringify({ task: { task_id: "t", instruction: "x" } }),
        })
      ).json();
    expect((await decide()).cause).toBe("score_flash");
    writeFileSync(file, "budget: { per_goal_hard_usd: 0.0000001 }\n");
    gateway.signal("SIGHUP");
    await eventually(async () => (await decide()).cause === "budget_hard_cap_exceeded");
  });
});

describe("the end of the process", () => {
  test("SIGTERM lets requests in flight end, then exits with 0", async () => {
    const gate = Promise.withResolvers<void>();
    const simulator = await startUpstream({ script: () => after(gate.promise, completes({ text: "late" })) });
    await using gateway = await serve({ UPSTREAM_BASE_URL: simulator.url });
    const pending = postChat(gateway.url);
    await eventually(() => simulator.received() === 1);
    gateway.signal("SIGTERM");
    await eventually(() => gateway.output().includes("gateway_draining"));
    gate.resolve();
    expect((await (await pending).json()).choices[0].message.content).toBe("late");
    expect(await gateway.exited()).toBe(0);
    expect(gateway.output()).toContain("gateway_stopped");
    await simulator.stop();
  });

  test("while draining it is not ready, and still serves new requests", async () => {
    const simulator = await startUpstream();
    await using gateway = await serve({ UPSTREAM_BASE_URL: simulator.url, DRAIN_ACCEPT_MS: "600000" });
    expect(await ready(gateway)).toBe(200);
    gateway.signal("SIGTERM");
    await eventually(async () => (await ready(gateway)) === 503);
    expect((await postChat(gateway.url)).status).toBe(200);
    gateway.signal("SIGTERM"); // a second signal skips the wait
    expect(await gateway.exited()).toBe(0);
    await simulator.stop();
  });

  test("a stream that outlasts the drain ends in an error with the reason, and is charged", async () => {
    const first = chunk({ role: "assistant", content: "first" });
    const simulator = await startUpstream({ script: () => streams({ events: [first], end: "silence" }) });
    await using gateway = await serve({ UPSTREAM_BASE_URL: simulator.url, DRAIN_STREAMS_MS: "0" });
    const reply = await postChat(gateway.url, { stream: true });
    const text = reply.text();
    gateway.signal("SIGTERM");
    expect(await text).toMatch(/"finish_reason":"error"[\s\S]*data: \[DONE\]\n\n$/);
    expect(await text).toContain('"message":"The gateway is shutting down."');
    expect(await gateway.exited()).toBe(0);
    await simulator.stop();
  });

  test("requests that outlast the drain without an answer get a 503 that says why, whole and streamed", async () => {
    const simulator = await startUpstream({ script: () => silent() });
    await using gateway = await serve({ UPSTREAM_BASE_URL: simulator.url, DRAIN_STREAMS_MS: "0" });
    const replies = [false, true, false, true].map((stream) => postChat(gateway.url, { stream }));
    await eventually(() => simulator.received() === replies.length);
    gateway.signal("SIGTERM");
    for (const reply of await Promise.all(replies)) {
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await reply.json()).toEqual({ detail: "The gateway is shutting down. Send the request again." });
    }
    expect(await gateway.exited()).toBe(0);
    await simulator.stop();
  });
});
