import { expect, test } from "bun:test";
import { fails } from "#simulator/behaviours.ts";
import type { Script } from "#simulator/simulator.ts";
import { start } from "../harness/gateway.ts";

const ask = { model: "smart-router-free", metadata: { sensitive: false } };
/** The upstream has run out of the free model. */
const outOfFree: Script = ({ body }) => (String(body?.["model"]).endsWith(":free") ? fails(503) : undefined);

test("while the free model is out a paid one answers and says so; a policy key refuses instead", async () => {
  await using paid = await start({ script: outOfFree });
  const answer = await paid.chat(ask);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-smart-gateway-instead-of")).toBe("vendor_free_scout");
  expect(answer.headers.get("x-smart-gateway-model")).not.toBe("vendor_free_scout");

  await using none = await start({ script: outOfFree, policy: { health: { free_fallback: "none" } } });
  const refused = await none.chat(ask);
  expect(refused.status).toBeGreaterThanOrEqual(500);
  expect(none.upstream.billedNanoUsd()).toBe(0);

  await using served = await start();
  expect((await served.chat(ask)).headers.get("x-smart-gateway-instead-of")).toBeNull();
});

test("a fail-over, and the choice of another model because one is out, is shown to the caller; a verdict of the scout is neither", async () => {
  const withoutFlash: Script = ({ body }) => (String(body?.["model"]).endsWith("v4-flash") ? fails(503) : undefined);
  await using gateway = await start({ script: withoutFlash, policy: { health: { failures_in_a_row: 2 } } });
  for (const _ of [1, 2, 3]) {
    const { headers } = await gateway.chat();
    const [instead, model] = ["instead-of", "model"].map((name) => headers.get(`x-smart-gateway-${name}`));
    expect([instead, model]).toEqual(["vendor_v4_flash", "vendor_v4_pro"]);
  }
  expect((await gateway.health())["vendor_v4_flash"]).toBe("UNHEALTHY");
  await using asked = await start();
  const scouted = await asked.chat({ metadata: { sensitive: false } }, { "x-scout": "true" });
  expect([scouted.status, scouted.headers.get("x-smart-gateway-instead-of")]).toEqual([200, null]);
});

test("a refusal at the cap of requests without a goal says what that goal is, its caps, and how to name another", async () => {
  await using gateway = await start({ policy: { budget: { per_goal_hard_usd: 2e-7, per_goal_soft_usd: 1e-7 } } });
  const adhoc = await (await gateway.chat()).json();
  for (const part of ["`adhoc`", "0.0000001 USD soft, 0.0000002 USD hard", "X-Smart-Gateway-Session"])
    expect(adhoc.detail).toContain(part);
  const own = await (await gateway.chat({}, { "x-smart-gateway-session": "s", "x-smart-gateway-goal": "g" })).json();
  expect(own.detail).not.toContain("adhoc");
});
