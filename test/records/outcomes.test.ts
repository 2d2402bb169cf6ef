import { expect, test } from "bun:test";
import { authorization, call, start } from "../harness/gateway.ts";

/** A flood of reports by one token, beside callers of another: before it was merged, each report wrote 128 records again. */
test("a flood of reports of outcomes is written little by little, and others are served beside it", async () => {
  await using gateway = await start();
  const decisions: string[] = [];
  for (let n = 0; n < 150; n++) {
    const answer = await gateway.chat({ model: "smart-router", messages: [{ role: "user", content: `Say ${n}.` }] });
    decisions.push(answer.headers.get("x-smart-gateway-decision-id") ?? "");
  }
  const report = (decision_id: string, token: string, outcome = "solved") =>
    call(`${gateway.url}/v1/route/outcome`, {
      method: "POST",
      headers: { authorization: token, "content-type": "application/json" },
      body: JSON.stringify({ decision_id, outcome }),
    });
  let flooding = true;
  const statuses = new Set<number>();
  const flood = Array.from({ length: 48 }, async (_, n) => {
    for (let at = n; flooding; at += 7)
      statuses.add((await report(decisions[at % 150] ?? "", "Bearer the-flood", at % 2 ? "solved" : "failed")).status);
  });
  const honest = Array.from({ length: 20 }, async () => (await gateway.chat()).status);
  expect(new Set(await Promise.all(honest))).toEqual(new Set([200]));
  const own = await report(decisions[0] ?? "", authorization.authorization, "failed");
  expect(own.status).toBe(204);
  flooding = false;
  await Promise.all(flood);
  expect(statuses).toEqual(new Set([204]));
  expect((await report(crypto.randomUUID(), authorization.authorization)).status).toBe(404);
});
