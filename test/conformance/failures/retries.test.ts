import { describe, expect, test } from "bun:test";
import { fails } from "#simulator/behaviours.ts";
import { disconnects } from "#simulator/testing/scripted.ts";
import { start } from "../../harness/gateway.ts";
import { idle, noExclusion } from "./faults.ts";

describe("keep-alive", () => {
  test("a kept-alive connection that is closed on reuse is replaced once, without effect on health", async () => {
    await using gateway = await start({ policy: { health: { failures_in_a_row: 1 } } });
    await (await gateway.chat()).text();
    gateway.upstream.next(disconnects("rst"));
    const response = await gateway.chat();
    expect(response.status).toBe(200);
    const [, reused, fresh] = gateway.upstream.requests;
    expect(reused?.onConnection).toBeGreaterThan(0);
    expect(fresh?.onConnection).toBe(0);
    expect((await gateway.health())["vendor_v4_flash"]).toBe("HEALTHY");
  });
});

describe("retry storms", () => {
  const calls = async (share: number): Promise<number> => {
    let turn = 0;
    await using gateway = await start({
      // Health never excludes a model here, and no retries are allowed per second, so that only the share of requests limits retries.
      policy: {
        upstream: { retry_budget_per_second: 0 },
        health: noExclusion,
      },
      script: () => (turn++ % 10 < share * 10 ? fails(503) : undefined),
    });
    const requests = 400;
    for (let sent = 0; sent < requests; sent += 20)
      await Promise.all(Array.from({ length: 20 }, async () => (await gateway.chat({ max_tokens: 10 })).text()));
    await idle(gateway);
    return gateway.upstream.received() / requests;
  };

  test("an upstream that fails a fifth of the time is called at most 1.2 times per request", async () => {
    expect(await calls(0.2)).toBeLessThanOrEqual(1.2);
  });

  test("an upstream that fails always is called at most 1.15 times per request", async () => {
    expect(await calls(1)).toBeLessThanOrEqual(1.15);
  });
});
