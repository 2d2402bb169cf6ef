import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import type { JsonObject } from "#domain/chat.ts";
import { ExplainedDecision } from "#records/decision-record.ts";
import { fails } from "#simulator/behaviours.ts";
import { type Answer, authorization, call, type Reply, start, type TestGateway } from "../harness/gateway.ts";

const explain = { "x-smart-gateway-explain": "true" };

async function recordOf(gateway: TestGateway, id: string | null): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    const response = await gateway.get(`/v1/route/decisions/${id}`, authorization);
    if (response.status === 200 || tries > 400) return response.json();
    await response.body?.cancel();
    await Bun.sleep(10);
  }
}
const idOf = (reply: Reply) => reply.headers.get("x-smart-gateway-decision-id");

test("a decision can be read by its id or by the request's, with its cost, the reasons and the stage that decided", async () => {
  await using gateway = await start();
  const reply = await gateway.chat({ model: "smart-router" }, { "x-request-id": "mine-1", "x-same-error-count": "3" });
  await reply.json();
  const record = await recordOf(gateway, idOf(reply));
  expect(ExplainedDecision.parse(record)).toEqual(record);
  expect(record).toMatchObject({ cause: "hard_pro_rule", rule: "same_error_count", tier: "pro", request_id: "mine-1" });
  expect(record.explanation.sentence).toStartWith(
    "Went to pro because the same error came back 3 times (`same_error_count`). Cost $",
  );
  const { explanation } = record;
  expect(explanation.stages.map(({ stage, decided }: Answer) => [stage, decided])).toEqual([
    ["privacy", false],
    ["score", false],
    ["rules", true],
    ["budget", false],
    ["health", false],
  ]);
  const [nearest] = explanation.would_change;
  expect(nearest).toMatchObject({ input: "same_error_count", from: "3", to: "1", leads_to: "flash" });
  const changes = explanation.would_change.map(({ input, leads_to }: Answer) => `${input}: ${leads_to}`);
  expect(new Set(changes).size, "each change once, at its nearest").toBe(changes.length);
  expect((await recordOf(gateway, "mine-1")).decision_id).toBe(idOf(reply));
  expect((await gateway.get("/v1/route/decisions/nobody", authorization)).status).toBe(404);
  expect((await gateway.get(`/v1/route/decisions/${idOf(reply)}`)).status).toBe(401);
  const post = await call(`${gateway.url}/v1/route/decisions/x`, { method: "POST", headers: authorization });
  expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("a redaction that made a request sensitive is given as the reason, and stating otherwise is not offered", async () => {
  await using gateway = await start();
  const secret = ["ghp", "_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].join("");
  const messages = [{ role: "user", content: `token ${secret}` }];
  const reply = await gateway.chat(
    { model: "smart-router-free", metadata: { sensitive: false }, messages },
    { "x-smart-gateway-explain": "true" },
  );
  const { smart_gateway: decision } = await reply.json();
  expect(decision.explanation.sentence).toBe(
    "Refused because a free model was asked for and the privacy gate found a private value in the request, which makes it sensitive.",
  );
  expect(decision.explanation.findings).toBe(
    "The privacy gate found 1 private value (github token), and replaced it unless in a tool definition.",
  );
  expect(decision.explanation.would_change.map(({ input }: Answer) => input)).toEqual(["explicit_route"]);
});

test("a request over its cap shows how much is missing", async () => {
  await using gateway = await start({ policy: { budget: { per_goal_hard_usd: 0.001, per_goal_soft_usd: 0.001 } } });
  const reply = await gateway.chat({ model: "smart-router" }, explain);
  expect(reply.status).toBe(403);
  const { smart_gateway: decision } = await reply.json();
  const [cap] = decision.explanation.would_change.filter(({ input }: Answer) => input.includes("per_goal_hard_usd"));
  expect(cap.leads_to).toBe("flash");
  const missing = Math.round((Number(cap.to) - 0.001) * 1e9) / 1e9;
  expect(cap.sentence).toBe(`With ${missing} USD more of the goal's hard cap: flash (${cap.cause}).`);
  expect(decision.explanation.sentence).toBe("Refused because it could pass the hard cap of the goal.");
});

describe("where another model answers than the rule chose, the sentence says why", () => {
  const asked = "because the caller asked for flash.";

  test("after a failed call, in the record too", async () => {
    await using gateway = await start();
    gateway.upstream.next(fails(500), fails(500));
    const reply = await gateway.chat({}, explain);
    const sentence = `Went to pro after vendor_v4_flash failed. vendor_v4_flash was chosen ${asked}`;
    expect((await reply.json()).smart_gateway.explanation.sentence).toBe(sentence);
    expect((await recordOf(gateway, idOf(reply))).explanation.sentence).toStartWith(`${sentence} `);
  });

  test("while the model is paused by the upstream's rate limit: its state, which would serve, is not the reason", async () => {
    await using gateway = await start();
    gateway.upstream.next(fails(429, "slow down", { "retry-after": "60" }));
    await (await gateway.chat()).text();
    const { smart_gateway } = await (await gateway.chat({}, explain)).json();
    expect(smart_gateway.evidence).toContain("replaced_because=paused");
    expect(smart_gateway.explanation.sentence).toBe(
      `Went to pro instead of vendor_v4_flash (\`paused\`), which was chosen ${asked}`,
    );
    expect(smart_gateway.explanation.stages.at(-1).evidence).toEqual(["health_vendor_v4_flash=paused"]);
  });
});

test("with X-Smart-Gateway-Explain the answer has its decision, and nothing else changes", async () => {
  await using gateway = await start();
  const plain = await (await gateway.chat()).json();
  const reply = await gateway.chat({ messages: [{ role: "user", content: "the Perugian plan" }] }, explain);
  const { smart_gateway: decision, ...answer } = await reply.json();
  expect(JSON.stringify(decision)).not.toContain("Perugian");
  expect(Object.keys(answer)).toEqual(Object.keys(plain));
  expect(decision).toMatchObject({ decision_id: idOf(reply), cause: "explicit_flash", model: "vendor_v4_flash" });
  expect(decision.explanation.stages).toHaveLength(5);
  expect(plain).not.toHaveProperty("smart_gateway");
  expect((await gateway.chat({}, { "x-smart-gateway-explain": "perhaps" })).status).toBe(422);
});

test("a stream has it as a comment before its first chunk", async () => {
  await using gateway = await start();
  const text = await (await gateway.chat({ stream: true }, explain)).text();
  const [first = ""] = text.split("\n\n");
  expect(first).toStartWith(": smart-gateway {");
  const decision = JSON.parse(first.slice(": smart-gateway ".length));
  expect(decision).toMatchObject({ cause: "explicit_flash", explanation: { would_change: expect.any(Array) } });
  expect(text).toEndWith("data: [DONE]\n\n");
  expect(await (await gateway.chat({ stream: true })).text()).not.toContain("smart-gateway");
});

test("a caller's report about an answer is in the decision's record", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reported-"));
  await using gateway = await start({ env: { DATABASE_URL: `sqlite:${join(folder, "gateway.db")}` } });
  const reply = await gateway.chat();
  await reply.text();
  const reported = await call(`${gateway.url}/v1/route/outcome`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json" },
    body: JSON.stringify({ decision_id: idOf(reply), outcome: "solved", score: 0.9 }),
  });
  expect(reported.status).toBe(204);
  expect((await recordOf(gateway, idOf(reply))).reported).toEqual({ outcome: "solved", score: 0.9 });
  rmSync(folder, { recursive: true, force: true });
});

test("what would have changed it names what is near: the next threshold, a counter, the model that was skipped", async () => {
  await using gateway = await start();
  const explanationOf = async (body: JsonObject, headers = {}) =>
    (await (await gateway.chat({ model: "smart-router", ...body }, { ...explain, ...headers })).json()).smart_gateway
      .explanation;
  const easy = await explanationOf({ messages: [{ role: "user", content: "Say hello" }] });
  expect(easy.sentence).toMatch(/^Went to flash because it is easier than \d\d % of asks\.$/);
  const { flash_below } = Policy.parse({}).routing;
  const { score } = (
    await (
      await gateway.chat({ model: "smart-router", messages: [{ role: "user", content: "Say hello" }] }, explain)
    ).json()
  ).smart_gateway;
  // The distance to what is next, and not what would lead elsewhere from everywhere.
  expect(easy.would_change.map(({ sentence }: Answer) => sentence)).toEqual([
    `With a score ${Math.round((flash_below - score) * 100) / 100} higher (${score}; gray zone from ${flash_below}): gray zone.`,
  ]);
  expect(easy.given).toEqual([
    { name: "model", value: "smart-router" },
    { name: "goal", value: "adhoc" },
  ]);
  const { would_change: repeated } = await explanationOf(
    { messages: [{ role: "user", content: "Say hello" }] },
    { "x-same-error-count": "1" },
  );
  expect(repeated).toContainEqual(
    expect.objectContaining({ input: "same_error_count", from: "1", to: "2", leads_to: "pro" }),
  );
  gateway.upstream.next(fails(429, "slow down", { "retry-after": "60" }));
  await (await gateway.chat()).text();
  const { would_change: skipped } = await explanationOf({ messages: [{ role: "user", content: "Say hello" }] });
  expect(skipped.map(({ sentence }: Answer) => sentence)).toContainEqual(
    expect.stringMatching(/^With vendor_v4_flash in service \(it was [A-Z_]+\): flash/),
  );
  const stated = await explanationOf(
    { metadata: { risk_level: "CRITICAL" } },
    { "x-goal-id": "g", "x-same-error-count": "3" },
  );
  expect(stated.given).toEqual([
    { name: "model", value: "smart-router" },
    { name: "goal", value: "g" },
    { name: "risk_level", value: "CRITICAL" },
    { name: "attempts", value: "1" },
    { name: "same_error_count", value: "3" },
  ]);
});
