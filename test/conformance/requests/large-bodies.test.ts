import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PieceCache } from "#http/chat-body/piece-cache.ts";
import { startServer } from "#http/server.ts";
import { completes, replies } from "#simulator/behaviours.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { authorization, call, eventually, start, type TestGateway } from "../../harness/gateway.ts";

const chat = "/v1/chat/completions";
const decision = "/v1/route/decision";
const messages = [{ role: "user", content: "hello" }];
const bodies = {
  [chat]: { model: "smart-router-flash", messages },
  [decision]: { task: { task_id: "t", instruction: "x" } },
};

const wholeCompletion = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
});

const post = (gateway: TestGateway, path: string, body: string | Buffer | ReadableStream) =>
  call(gateway.url + path, { method: "POST", headers: { ...authorization, "content-type": "application/json" }, body });

/** A request whose body is sent when `finish` is called. */
async function unfinished(
  gateway: TestGateway,
  path: string,
  body: string,
): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (data) => {
    answer += data;
  });
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: ${authorization.authorization}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  await new Promise<void>((resolve) =>
    socket.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 10)}`, () => resolve()),
  );
  return {
    socket,
    finish: () =>
      new Promise((resolve) => {
        socket.on("close", () => resolve(answer));
        socket.write(body.slice(10));
      }),
  };
}

describe.each([chat, decision] as const)("POST %s", (path) => {
  test("refuses a body of too many JSON values with 413, naming the setting", async () => {
    await using gateway = await start({ env: { MAX_REQUEST_VALUES: "5000" } });
    const many = await post(gateway, path, JSON.stringify({ ...bodies[path], unknown: Array(5_000).fill({}) }));
    expect([many.status, await many.json()]).toEqual([413, { detail: expect.stringContaining("MAX_REQUEST_VALUES") }]);
    const few = await post(gateway, path, JSON.stringify({ ...bodies[path], unknown: Array(2_000).fill({}) }));
    expect(few.status).toBe(200);
    expect(gateway.upstream.requests.length).toBe(path === chat ? 1 : 0);
  });

  test("names the depth for a body that is both too deep and too large", async () => {
    await using gateway = await start();
    const response = await post(gateway, path, "[".repeat(300_000));
    expect([response.status, (await response.json()).detail]).toEqual([
      path === chat ? 400 : 422,
      expect.stringContaining("64 levels"),
    ]);
  });

  test("accepts requests of real agents: thousands of messages with tool calls, or text of 800 KB", async () => {
    await using gateway = await start();
    const turn = [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "x".repeat(200) },
    ];
    const history = [...messages, ...Array.from({ length: 2_500 }, () => turn).flat(), ...messages];
    const tools = Array.from({ length: 200 }, (_, index) => ({
      type: "function",
      function: {
        name: `f${index}`,
        parameters: { type: "object", properties: { a: { type: "string" }, b: { type: "number" } } },
      },
    }));
    const body =
      path === chat
        ? { model: "smart-router-flash", messages: history, tools, max_tokens: 10 }
        : { task: { task_id: "t", instruction: "word ".repeat(160_000) } };
    expect((await post(gateway, path, JSON.stringify(body))).status).toBe(200);
  });

  test("refuses bodies beyond the bytes in flight with 503 and Retry-After, and accepts them once there is room", async () => {
    await using gateway = await start({ env: { MAX_BYTES_IN_FLIGHT: "1048576" } });
    const body = JSON.stringify({ ...bodies[path], unknown: "x".repeat(700_000) });
    const first = await unfinished(gateway, path, body);
    let shed = await post(gateway, path, body);
    // The first counts as soon as its head has been read.
    await eventually(async () => {
      if (shed.status !== 503) shed = await post(gateway, path, body);
      return shed.status === 503;
    });
    expect(shed.headers.get("retry-after")).toBe("1");
    expect(await shed.json()).toEqual({ detail: expect.stringContaining("MAX_BYTES_IN_FLIGHT") });
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(body.slice(0, 400_000)));
        controller.enqueue(Buffer.from(body.slice(400_000)));
        controller.close();
      },
    });
    expect((await post(gateway, path, chunked)).status).toBe(503);
    expect((await post(gateway, path, JSON.stringify(bodies[path]))).status).toBe(200);
    expect(await first.finish()).toStartWith("HTTP/1.1 200");
    expect((await post(gateway, path, body)).status).toBe(200);
  });

  test("releases the bytes of a caller who disconnected during the body, and of one that was refused", async () => {
    await using gateway = await start({ env: { MAX_BYTES_IN_FLIGHT: "1048576" } });
    const padding = "x".repeat(700_000);
    const body = JSON.stringify({ ...bodies[path], unknown: padding });
    const left = await unfinished(gateway, path, body);
    left.socket.destroy();
    await eventually(async () => (await post(gateway, path, body)).status === 200);
    expect((await post(gateway, path, `{"a":"${padding}"`)).status).toBe(path === chat ? 400 : 422);
    expect((await post(gateway, path, JSON.stringify({ padding }))).status).toBe(422);
    const bytes = Buffer.concat([Buffer.from(`{"a":"${padding}`), Buffer.from([0xff])]);
    expect((await post(gateway, path, bytes)).status).toBe(path === chat ? 400 : 422);
    expect((await post(gateway, path, body)).status).toBe(200);
  });

  test("is refused unread while the gateway is overloaded", async () => {
    await using gateway = await start();
    const { ports } = gateway.gateway;
    const http = startServer({
      host: "127.0.0.1",
      port: 0,
      reusePort: false,
      version: "1",
      demo: false,
      maxRequestBytes: 1_000,
      maxRequestValues: 1_000,
      maxBytesInFlight: 1_000,
      pieces: new PieceCache(() => 0),
      allowedHosts: [],
      auth: () => ({ minTokenLength: 8 }),
      ports,
      reportOutcome: async () => false,
      lastModel: () => undefined,
      configStatus: () => ({ state: "current", hash: "", loadedAtMs: 0 }),
      metricsText: async () => undefined,
      shedReason: () => "memory_high",
      onRejected: () => undefined,
      onDryRun: () => undefined,
      decisionRecord: async () => undefined,
      explain: () => ({}),
      onCrash: () => undefined,
    });
    const init = { method: "POST", headers: { ...authorization, "content-type": "application/json" } };
    const response = await call(http.url + path, { ...init, body: JSON.stringify(bodies[path]) });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await response.json()).detail).toContain("memory_high");
    await http.stop();
  });
});

describe("a text with more credentials than can be replaced in time", () => {
  const name = ["pass", "word"].join("");
  const text = Array.from({ length: 51_000 }, (_, index) => `${name} = x7Gk2m${index}Q9vB;`).join("\n");

  test("is refused with 413 in a chat", async () => {
    await using gateway = await start();
    const body = JSON.stringify({ model: "smart-router", messages: [{ role: "user", content: text }] });
    const refused = await post(gateway, chat, body);
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([413, "false"]);
    expect(await refused.json()).toEqual({ detail: expect.stringContaining("credentials") });
    expect(gateway.upstream.requests.length).toBe(0);
  });

  test("counts as sensitive in a dry run", async () => {
    await using gateway = await start();
    const task = { task_id: "t", instruction: text, explicit_route: "FREE_SCOUT", sensitive: false };
    const dry = await (await post(gateway, decision, JSON.stringify({ task }))).json();
    expect(dry).toMatchObject({ action: "DENY", sensitive_block_applied: true });
  });
});

test("a reloaded bound on answers applies from then on", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "smart-gateway-test-")), "policy.json");
  const policy = (stream: object) => writeFileSync(path, JSON.stringify({ upstream: { max_attempts: 1 }, stream }));
  policy({});
  await using gateway = await start({ env: { ROUTING_POLICY_PATH: path } });
  const text = "x".repeat(6_000);
  const asked = async (body: object) => {
    gateway.upstream.next(completes({ text }));
    const response = await gateway.chat({ max_tokens: 10_000, ...body });
    return [response.status, (await response.text()).length > text.length];
  };
  expect(await asked({})).toEqual([200, true]);
  policy({ max_answer_bytes: 4_096, max_event_bytes: 4_096 });
  expect((await gateway.gateway.reload()).kind).toBe("reloaded");
  expect(await asked({})).toEqual([502, false]);
  policy({ max_answer_values: 1_000 });
  expect((await gateway.gateway.reload()).kind).toBe("reloaded");
  expect(await asked({})).toEqual([200, true]);
  gateway.upstream.next(replies(200, { ...JSON.parse(wholeCompletion), extra: Array(1_000).fill([]) }));
  expect((await gateway.chat()).status).toBe(502);
});

test("a reloaded bound on one event of a stream applies too", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "smart-gateway-test-")), "policy.json");
  writeFileSync(path, JSON.stringify({ upstream: { max_attempts: 1 } }));
  await using gateway = await start({ env: { ROUTING_POLICY_PATH: path } });
  // Longer than one read.
  const event = chunk({ content: "x".repeat(1_000_000) });
  const asked = async () => {
    gateway.upstream.next(streams({ events: [event, chunk({}, "stop")] }));
    return (await gateway.chat({ stream: true })).status;
  };
  expect(await asked()).toBe(200);
  writeFileSync(path, JSON.stringify({ upstream: { max_attempts: 1 }, stream: { max_event_bytes: 4_096 } }));
  expect((await gateway.gateway.reload()).kind).toBe("reloaded");
  expect(await asked()).toBe(502);
});

test("a body counts as in flight until its answer begins", async () => {
  await using gateway = await start({ env: { MAX_BYTES_IN_FLIGHT: "1048576" } });
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  gateway.upstream.next(async (exchange) => {
    await gate;
    return completes({ text: "late" })(exchange);
  });
  const body = JSON.stringify({ ...bodies[chat], unknown: "x".repeat(700_000) });
  const waiting = post(gateway, chat, body);
  await eventually(() => gateway.upstream.requests.length === 1);
  expect((await post(gateway, chat, body)).status).toBe(503);
  release();
  expect((await waiting).status).toBe(200);
  expect((await post(gateway, chat, body)).status).toBe(200);
});
