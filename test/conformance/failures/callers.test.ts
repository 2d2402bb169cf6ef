import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import type { RecordedRequest } from "#simulator/simulated-exchange.ts";
import { silent, writesRaw } from "#simulator/testing/scripted.ts";
import { authorization, eventually, start, type TestGateway } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";
import { readStream } from "../../harness/sse.ts";
import { afterFirst, bill, idle, json, word } from "./faults.ts";

describe("callers", () => {
  const charged = async (gateway: TestGateway): Promise<void> => {
    const totals = await gateway.ledger();
    expect(totals.spent).toBeGreaterThanOrEqual(gateway.upstream.billedNanoUsd());
  };

  /** Aborts a chat request as soon as `when` has come; what the upstream saw. */
  async function abort(gateway: TestGateway, body: JsonObject, when: (request: RecordedRequest) => Promise<unknown>) {
    const caller = new AbortController();
    const pending = gateway
      .chat({ max_tokens: 1_000, ...body }, {}, { signal: caller.signal })
      .catch(({ name }) => name);
    const request = await gateway.upstream.request(0);
    await when(request);
    caller.abort();
    expect(await pending).toBe("AbortError");
    const ended = await request.ended;
    await idle(gateway);
    expect(gateway.upstream.received()).toBe(1);
    return ended;
  }

  const halfAnswer = writesRaw(`${json}content-length: 99\r\n\r\n{"id"`, "silence", { bills: bill });
  const atOnce = async () => undefined;
  test.each([
    ["before the headers", silent({ bills: bill }), {}, atOnce],
    ["before the headers of a stream", silent({ bills: bill }), { stream: true }, atOnce],
    ["while a whole answer is being read", halfAnswer, {}, (it: RecordedRequest) => eventually(() => it.bytesSent > 0)],
  ] as const)("who disconnect %s: the upstream is aborted, the hold charged", async (_, upstream, body, when) => {
    await using gateway = await start();
    gateway.upstream.next(upstream);
    expect(await abort(gateway, body, when)).toBe("caller_gone");
    await charged(gateway);
    expect((await gateway.health())["vendor_v4_flash"]).toBe("HEALTHY");
  });

  test("who disconnect in mid-stream", async () => {
    await using gateway = await start();
    gateway.upstream.next(afterFirst([], "silence")(new Promise(() => undefined)));
    const caller = new AbortController();
    const response = await gateway.chat({ stream: true, max_tokens: 1_000 }, {}, { signal: caller.signal });
    await readStream(response, () => caller.abort());
    expect(await (await gateway.upstream.request(0)).ended).toBe("caller_gone");
    await charged(gateway);
    expect((await gateway.health())["vendor_v4_flash"]).toBe("HEALTHY");
    await idle(gateway);
  });

  test("who disconnect while the scout is asked", async () => {
    await using gateway = await start({ policy: { routing: { flash_below: 0, pro_from: 100 } } });
    gateway.upstream.next(silent());
    const open = { model: "smart-router", metadata: { sensitive: false } };
    expect(await abort(gateway, open, atOnce)).toBe("caller_gone");
  });

  test("who do not read pause the upstream, and are cut off in the end", async () => {
    await using gateway = await start({ policy: { stream: { write_stall_ms: 300 } } });
    const filler = word("x".repeat(4_000));
    gateway.upstream.next(async (exchange) => {
      await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
      while (!exchange.over) await exchange.event(filler);
    });
    const body = JSON.stringify({
      model: "smart-router-flash",
      stream: true,
      messages: [{ role: "user", content: "x" }],
    });
    const head = [
      "POST /v1/chat/completions HTTP/1.1",
      "Host: localhost",
      `Authorization: ${authorization.authorization}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    const { socket } = new RawCaller(gateway).send(`${head.join("\r\n")}\r\n\r\n${body}`);
    socket.pause();
    const request = await gateway.upstream.request(0);
    expect(await request.ended).toBe("caller_gone");
    // Kernel buffers on both sides hold some megabytes; the gateway adds almost nothing.
    expect(request.bytesSent).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
    await idle(gateway);
  });
});
