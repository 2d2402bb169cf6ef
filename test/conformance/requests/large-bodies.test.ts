import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completes, replies } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { authorization, call, eventually, start, type TestGateway } from "../../harness/gateway.ts";

const chat = "/v1/chat/completions";
const decision = "/v1/route/decision";
const messages = [{ role: "user", content: "hello" }];
const bodies = {
  [chat]: { model: "smart-router-flash", messages },
  [decision]: { task: { task_id: "t", instruction: "x" } },
};

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
    const tool_calls = [{ id: "c", type: "function", function: { name: "read", arguments: "{}" } }];
    const turn = [
      { role: "assistant", content: null, tool_calls },
      { role: "tool", tool_call_id: "c", content: "x".repeat(200) },
    ];
    const history = [...messages, ...Array.from({ length: 2_500 }, () => turn).flat(), ...messages];
    const parameters = { type: "object", properties: { a: { type: "string" }, b: { type: "number" } } };
    const tools = Array.from({ length: 200 }, (_, at) => ({
      type: "function",
      function: { name: `f${at}`, parameters },
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
});

test("a text with more credentials than can be replaced in time is refused with 413, and sensitive in a dry run", async () => {
  const name = ["pass", "word"].join("");
  const text = Array.from({ length: 51_000 }, (_, index) => `${name} = x7Gk2m${index}Q9vB;`).join("\n");
  await using gateway = await start();
  const body = JSON.stringify({ model: "smart-router", messages: [{ role: "user", content: text }] });
  const refused = await post(gateway, chat, body);
  expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([413, "false"]);
  expect(await refused.json()).toEqual({ detail: expect.stringContaining("credentials") });
  expect(gateway.upstream.requests.length).toBe(0);
  const task = { task_id: "t", instruction: text, explicit_route: "FREE_SCOUT", sensitive: false };
  const dry = await (await post(gateway, decision, JSON.stringify({ task }))).json();
  expect(dry).toMatchObject({ action: "DENY", sensitive_block_applied: true });
});

test("reloaded bounds on answers and on events of a stream apply from then on", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "smart-gateway-test-")), "policy.json");
  const bounded = (stream: object) => writeFileSync(path, JSON.stringify({ upstream: { max_attempts: 1 }, stream }));
  bounded({});
  await using gateway = await start({ env: { ROUTING_POLICY_PATH: path } });
  const reload = async (stream: object) => {
    bounded(stream);
    expect((await gateway.gateway.reload()).kind).toBe("reloaded");
  };
  const status = async (upstream: Behaviour, body: object = {}) => {
    gateway.upstream.next(upstream);
    const response = await gateway.chat({ max_tokens: 10_000, ...body });
    await response.text();
    return response.status;
  };
  const long = completes({ text: "x".repeat(6_000) });
  // Longer than one read.
  const longEvent = streams({ events: [chunk({ content: "x".repeat(1_000_000) }), chunk({}, "stop")] });
  expect([await status(long), await status(longEvent, { stream: true })]).toEqual([200, 200]);
  await reload({ max_answer_bytes: 4_096, max_event_bytes: 4_096 });
  expect([await status(long), await status(longEvent, { stream: true })]).toEqual([502, 502]);
  await reload({ max_answer_values: 1_000 });
  expect(await status(long)).toBe(200);
  const choices = [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
  expect(await status(replies(200, { id: "c", choices, extra: Array(1_000).fill([]) }))).toBe(502);
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
