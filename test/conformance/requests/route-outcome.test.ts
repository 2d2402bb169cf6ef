import { afterAll, beforeAll, expect, test } from "bun:test";
import { authorization, call, type Reply, start, type TestGateway } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

const post = (body: unknown, headers: Record<string, string> = authorization): Promise<Reply> =>
  call(`${gateway.url}/v1/route/outcome`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const decisionOfChat = async (body: object = {}): Promise<string> => {
  const response = await gateway.chat({ model: "smart-router", ...body });
  await response.text();
  return response.headers.get("x-smart-gateway-decision-id") ?? "";
};
const id = "0198f5a0-0000-7000-8000-000000000000";

test("a caller's report about an answer is recorded, and can be changed", async () => {
  const decision_id = await decisionOfChat();
  for (const report of [
    { outcome: "failed", score: 0.25 },
    { outcome: "solved", score: null },
    { outcome: "solved" },
  ]) {
    const response = await post({ decision_id, ...report, unknown: 1 });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("x-request-id")).toBeTruthy();
  }
});

test("an unknown decision gets 404", async () => {
  const unknown = await post({ decision_id: id, outcome: "solved" });
  expect(unknown.status).toBe(404);
  expect((await unknown.json()).detail).toContain("X-Smart-Gateway-Decision-Id");
});

test.each([
  [{ outcome: "solved" }, "decision_id"],
  [{ decision_id: "", outcome: "solved" }, "decision_id"],
  [{ decision_id: "x".repeat(129), outcome: "solved" }, "decision_id"],
  [{ decision_id: 7, outcome: "solved" }, "decision_id"],
  [{ decision_id: id }, "outcome"],
  [{ decision_id: id, outcome: "SOLVED" }, "outcome"],
  [{ decision_id: id, outcome: "solved", score: 1.01 }, "score"],
  [{ decision_id: id, outcome: "solved", score: -0.01 }, "score"],
  [{ decision_id: id, outcome: "solved", score: "1" }, "score"],
  ["[]", "JSON object"],
  ["{", "JSON"],
])("an invalid value gets 422 and the name of its field: %j", async (body, field) => {
  const response = await post(body);
  expect(response.status).toBe(422);
  expect((await response.json()).detail).toContain(field);
});
