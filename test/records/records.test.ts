import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DecisionRecord } from "#records/decision-record.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { authorization, call, start, type TestGateway } from "../harness/gateway.ts";

/** The decision records, as soon as there are this many. */
async function recordsOf(gateway: TestGateway, count: number): Promise<DecisionRecord[]> {
  for (let tries = 0; ; tries++) {
    const { records } = await gateway.gateway.records.query({}, { limit: 1_000 });
    if (records.length >= count || tries > 400) return [...records];
    await Bun.sleep(10);
  }
}

test("each request leaves one record, which matches its schema and the headers of the answer", async () => {
  await using gateway = await start();
  const reply = await gateway.chat({}, { "x-session-id": "s1", "x-goal-id": "g1", "x-task-id": "t1" });
  await reply.json();
  const [record] = await recordsOf(gateway, 1);
  expect(DecisionRecord.parse(record)).toEqual(record!);
  expect(record).toMatchObject({
    decision_id: reply.headers.get("x-smart-gateway-decision-id"),
    request_id: reply.headers.get("x-request-id"),
    session: "s1",
    goal: "s1/g1",
    task: "t1",
    alias: "smart-router-flash",
    status: 200,
    outcome: "answered",
    cause: reply.headers.get("x-smart-gateway-cause"),
    score: Number(reply.headers.get("x-smart-gateway-score")),
    model: reply.headers.get("x-smart-gateway-model"),
    served_by: reply.headers.get("x-smart-gateway-answered-by"),
    cost_state: "known",
    repeated: 1,
  });
  const totals = await gateway.ledger();
  expect(record?.cost_nano_usd).toBe(totals.spent);
  expect(record?.attempts).toHaveLength(1);
  expect(record?.attempts[0]).toMatchObject({ outcome: "answered", upstream_status: 200, number: 1 });
});

describe("upstream metadata is recorded, also if billed costs are not looked up", () => {
  const policy = { upstream: { generation_lookup: "off" } };
  test.each([
    [false, false],
    [true, true],
  ])("streamed: %p, on the operator's own account with the provider: %p", async (stream, ownAccount) => {
    await using gateway = await start({ ownAccount, policy });
    const text = await (await gateway.chat({ stream })).text();
    const id = /"id": ?"(gen-[^"]+)"/.exec(text)?.[1];
    expect(id).toBeString();
    const [record] = await recordsOf(gateway, 1);
    expect(record).toMatchObject({
      upstream_host: "Simulated",
      generation_ids: [id!],
      is_byok: ownAccount,
      attempts: [{ host: "Simulated", generation_id: id! }],
    });
  });
});

test("a flood of refusals makes a bounded number of records, whose counts add up", async () => {
  await using gateway = await start();
  const refused = async () => {
    const reply = await call(`${gateway.url}/v1/chat/completions`, { method: "POST", body: "{}" });
    expect(reply.status).toBe(401);
  };
  for (let n = 0; n < 60; n++) await refused();
  const file = gateway.gateway.settings.databaseUrl;
  await gateway.stop();
  if (file.endsWith(":memory:")) return;
  const store = await openRecordStore(file);
  const { records } = await store.query({ status: ["401"] }, { limit: 1_000 });
  await store.close();
  expect(records.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(60);
  expect(records.length).toBeLessThanOrEqual(42);
});

test("no text of a prompt or an answer is recorded, and no secret in an id", async () => {
  await using gateway = await start();
  const secret = ["sk", "proj", "Zx9".repeat(16)].join("-");
  const reply = await gateway.chat(
    { messages: [{ role: "user", content: `the Perugian plan ${secret}` }] },
    { "x-session-id": secret, "x-goal-id": `g ${secret}`, "x-task-id": secret },
  );
  const answer = await reply.json();
  const [record] = await recordsOf(gateway, 1);
  const written = JSON.stringify(record);
  expect(written).not.toContain("Perugian");
  expect(written).not.toContain(secret);
  expect(written).not.toContain(answer.choices[0].message.content.slice(0, 20));
  expect(record?.redactions.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(0);
});

test("a record has the label of its caller's token, and metrics and sums count by it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "labels-"));
  const file = join(folder, "keys");
  const digest = new Bun.CryptoHasher("sha256")
    .update(authorization.authorization.replace("Bearer ", ""))
    .digest("hex");
  writeFileSync(file, `${digest} ci-runner\n`);
  await using gateway = await start({ env: { AUTH_KEYS_FILE: file } });
  await (await gateway.chat()).json();
  const [record] = await recordsOf(gateway, 1);
  expect(record?.label).toBe("ci-runner");
  const { records } = gateway.gateway;
  expect((await records.query({ label: ["ci-runner"] }, { limit: 9 })).records).toHaveLength(1);
  expect((await records.query({ label: [""] }, { limit: 9 })).records).toHaveLength(0);
  const hour = { fromMs: record!.recorded_ms - 60_000, toMs: record!.recorded_ms + 60_000 };
  expect((await records.summary(hour, { label: ["ci-runner"] })).cost_nano_usd).toBe(record!.cost_nano_usd);
  const metrics = await (await gateway.get("/metrics")).text();
  expect(metrics).toContain('smart_gateway_token_requests_total{label="ci-runner"} 1');
  rmSync(folder, { recursive: true });
});

test("a change of model within a conversation tells what it cost or saved, beside staying with the context cached", async () => {
  await using gateway = await start();
  const first = { role: "user", content: "Say hello. ".repeat(200) };
  const reply = await (await gateway.chat({ model: "smart-router-pro", messages: [first] })).json();
  const messages = [first, reply.choices[0].message, { role: "user", content: "Again." }];
  await (await gateway.chat({ model: "smart-router-flash", messages })).json();
  const [second, before] = await recordsOf(gateway, 2);
  expect([before?.switched, second?.switched?.from]).toEqual([null, "vendor_v4_pro"]);
  // The context is read anew, but what flash writes costs a third of pro's.
  expect(second?.switched?.cost_nano_usd).toBeLessThan(0);
});
