import { describe, expect, test } from "bun:test";
import { authorization, call, eventually, start, type TestGateway } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

const chat = "/v1/chat/completions";
const decision = "/v1/route/decision";
const messages = [{ role: "user", content: "hello" }];
const bodies = {
  [chat]: { model: "smart-router-flash", messages },
  [decision]: { task: { task_id: "t", instruction: "x" } },
};

const post = (gateway: TestGateway, path: string, body: string | Buffer | ReadableStream) =>
  call(gateway.url + path, { method: "POST", headers: { ...authorization, "content-type": "application/json" }, body });

/** Announces a body and sends its beginning. */
async function unfinished(gateway: TestGateway, path: string, body: string, sent: number): Promise<RawCaller> {
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    `Authorization: ${authorization.authorization}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  const caller = new RawCaller(gateway);
  const begun = `${head.join("\r\n")}\r\n\r\n${body.slice(0, sent)}`;
  await new Promise((resolve) => caller.socket.write(begun, resolve));
  return caller;
}

describe.each([chat, decision] as const)("POST %s", (path) => {
  test("refuses a body of too many JSON values with 413", async () => {
    await using gateway = await start();
    const many = await post(gateway, path, JSON.stringify({ ...bodies[path], unknown: Array(100_000).fill({}) }));
    expect([many.status, await many.json()]).toEqual([413, { detail: expect.stringContaining("100000 JSON values") }]);
    const few = await post(gateway, path, JSON.stringify({ ...bodies[path], unknown: Array(45_000).fill({}) }));
    expect(few.status).toBe(200);
    expect(gateway.upstream.requests.length).toBe(path === chat ? 1 : 0);
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
    const first = await unfinished(gateway, path, body, body.length - 10);
    let shed = await post(gateway, path, body);
    // The first counts as soon as it has been read.
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
    first.send(body.slice(-10));
    await eventually(() => first.closed);
    expect(first.statuses).toEqual([200]);
    expect((await post(gateway, path, body)).status).toBe(200);
  });

  test("bodies that are announced and never come take no room from honest callers", async () => {
    await using gateway = await start({ env: { MAX_BYTES_IN_FLIGHT: "4194304" } });
    const large = JSON.stringify({ ...bodies[path], unknown: "x".repeat(640_000) });
    const idle = await Promise.all(Array.from({ length: 60 }, () => unfinished(gateway, path, large, 1)));
    const honest = [large, JSON.stringify(bodies[path])].flatMap((body) => Array.from({ length: 10 }, () => body));
    const statuses: number[] = [];
    for (const body of honest) statuses.push((await post(gateway, path, body)).status);
    expect(statuses).toEqual(honest.map(() => 200));
    for (const { socket } of idle) socket.destroy();
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
