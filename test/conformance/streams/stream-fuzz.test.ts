import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import { chunk, type StreamScript, streams, usageChunk } from "#simulator/testing/scripted.ts";
import { eventually, start, type TestGateway } from "../../harness/gateway.ts";
import { finishReasonsOf, readStream } from "../../harness/sse.ts";
import { noExclusion } from "../failures/faults.ts";

const longTests = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";

/** Guarantees for callers that hold for any upstream stream and any end of it. */
let gateway: TestGateway;
beforeAll(async () => {
  const usd = 900_000;
  const budget = { per_goal_hard_usd: usd, per_day_hard_usd: usd, per_goal_soft_usd: usd, per_day_soft_usd: usd };
  gateway = await start({ policy: { upstream: { max_attempts: 1 }, health: noExclusion, budget } });
});
afterAll(() => gateway.stop());

const delta: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }).map((content) => ({ content })),
  fc.string({ maxLength: 20 }).map((reasoning) => ({ content: "", reasoning })),
  fc.string({ maxLength: 20 }).map((reasoning_content) => ({ content: null, reasoning_content })),
  fc.constant({ role: "assistant" }),
  fc.constant({}),
  fc
    .string({ maxLength: 8 })
    .map((text) => ({ content: null, tool_calls: [{ index: 0, function: { arguments: text } }] })),
);
const event: fc.Arbitrary<JsonObject | string> = fc.oneof(
  { weight: 12, arbitrary: delta.map((each) => chunk(each)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom("stop", "length", "tool_calls").map((reason) => chunk({ content: "" }, reason)),
  },
  { weight: 2, arbitrary: fc.constantFrom(": comment\n\n", "\n", "\r\n", "event: ping\n\n", "data:\n\n", "id: 7\n") },
  { weight: 1, arbitrary: fc.constant(usageChunk({ input: 10, output: 5, costUsd: 0.000001 })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "data: {\n\n",
      "data: 7\n\n",
      "data: null\n\n",
      'data: {"choices":7}\n\n',
      "garbage\n\n",
    ),
  },
  { weight: 1, arbitrary: fc.constant<JsonObject>({ error: { code: 502, message: "provider" } }) },
);
const script = fc.record({
  events: fc.array(event, { maxLength: 12 }),
  framing: fc.constantFrom("chunked" as const, "close" as const),
  end: fc.constantFrom("done" as const, "clean" as const, "fin" as const, "rst" as const),
});

async function checkGuarantees(played: StreamScript): Promise<void> {
  gateway.upstream.next(streams({ ...played, bills: 1_000 }));
  const response = await gateway.chat({ stream: true, max_tokens: 100 });
  if (response.status !== 200) {
    // Nothing had been sent: a plain error with its own status.
    expect([500, 502]).toContain(response.status);
    expect(Object.keys(await response.json())).toEqual(["detail"]);
    return;
  }
  const read = await readStream(response);
  expect(read.broken).toBeUndefined();
  expect(read.done).toBe(true);
  const reasons = finishReasonsOf(read.chunks);
  expect(reasons).toHaveLength(1);
  const [first] = read.chunks;
  if (first.error === undefined) expect(first.choices[0].delta.role).toBe("assistant");
  const failed = read.chunks.some((each) => each.error !== undefined);
  expect(reasons[0] === "error").toBe(failed);
  const said = played.events as readonly (JsonObject | string)[];
  // Nothing is invented: the script had a regular end.
  const hasFinish = (each: JsonObject | string) =>
    typeof each !== "string" && JSON.stringify(each).includes(`"finish_reason":"${reasons[0]}"`);
  if (!failed) expect(said.some(hasFinish) || played.end === "done").toBe(true);
}

test("there is one role, one finish reason, one [DONE], and an error exactly if the upstream failed", async () => {
  await fc.assert(fc.asyncProperty(script, checkGuarantees), { numRuns: longTests ? 1_000 : 150, endOnFailure: true });
  await eventually(() => gateway.upstream.unfinished() === 0 && gateway.gateway.http.streams.count === 0);
  const { spent, held } = await gateway.ledger(() => true);
  expect(spent + held).toBeGreaterThanOrEqual(gateway.upstream.billedNanoUsd());
});
