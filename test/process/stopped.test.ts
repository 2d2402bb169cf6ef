import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completes } from "#simulator/behaviours.ts";
import { streams } from "#simulator/testing/scripted.ts";
import { stop, word } from "../conformance/failures/faults.ts";
import { eventually, postChat, startUpstream } from "../harness/gateway.ts";
import { type GatewayProcess, serve } from "../harness/process.ts";

/** A process that is stopped for longer than its time limits, as on a paused machine. */

/** Long enough for a busy machine, shorter than the stop. In milliseconds. */
const limitMs = 1_500;
const stoppedMs = 2_500;
const limits = { headers: limitMs, first_event: limitMs, idle: limitMs };

/** Stops the gateway, lets the upstream do the rest, and goes on when all time limits are over. */
async function whileStopped(gateway: GatewayProcess, rest: () => void): Promise<void> {
  gateway.signal("SIGSTOP");
  rest();
  await Bun.sleep(stoppedMs);
  gateway.signal("SIGCONT");
}

test("what an upstream has sent while the gateway was stopped is no silence: streams and answers are complete", async () => {
  const upstream = await startUpstream();
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-stopped-"));
  const policy = join(folder, "policy.json");
  writeFileSync(policy, JSON.stringify({ upstream: { max_attempts: 1, timeouts_ms: limits } }));
  await using gateway = await serve({ UPSTREAM_BASE_URL: upstream.url, ROUTING_POLICY_PATH: policy });

  const released = Promise.withResolvers<void>();
  upstream.next(
    streams({
      events: [word("first"), word(" second"), stop],
      gate: (at) => (at === 1 ? released.promise : undefined),
    }),
  );
  const reply = await postChat(gateway.url, { stream: true });
  const text = reply.text();
  await whileStopped(gateway, released.resolve);
  expect(await text).toContain(" second");
  expect(await text).not.toContain('"error"');

  const answered = Promise.withResolvers<void>();
  upstream.next(async (exchange) => {
    await answered.promise;
    await completes({ text: "whole" })(exchange);
  });
  const before = upstream.received();
  const whole = postChat(gateway.url);
  await eventually(() => upstream.received() === before + 1);
  await whileStopped(gateway, answered.resolve);
  expect([(await whole).status, (await (await whole).json()).choices?.[0].message.content]).toEqual([200, "whole"]);
  await upstream.stop();
  rmSync(folder, { recursive: true });
}, 60_000);
