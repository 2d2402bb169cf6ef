import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { replies } from "#simulator/behaviours.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { start, type TestGateway } from "../../harness/gateway.ts";

/** What is charged for an answer whose usage is stated as one maker or another does, by the upstream's own bill. */

/** The tokens that are billed, or the cost in USD; null: nobody can know, and the hold is charged. */
type Billed =
  | { readonly input: number; readonly output: number; readonly cached?: number; readonly written?: number }
  | { readonly usd: number }
  | null;
type Row = readonly [what: string, fields: JsonObject, billed: Billed, inChoice?: JsonObject];
const rows: Row[] = jsonLines(import.meta.dir, "fixtures/usage-dialects.jsonl");

// Flash: 0.14 USD per million input tokens, 0.0028 of the cache, 0.28 of output. 20,000 tokens of output are held.
const bound = { max_tokens: 20_000 };
const [leastHold, mostHold] = [5_600_000, 5_700_000];

function billOf(billed: Exclude<Billed, null>): number {
  if ("usd" in billed) return Math.round(billed.usd * 1e9);
  const { input, output, cached = 0 } = billed;
  return Math.ceil((input - cached) * 140 + cached * 2.8 + output * 280 - 1e-6);
}

const whole = (fields: JsonObject, inChoice: JsonObject = {}) =>
  replies(200, {
    id: "gen-1",
    choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop", ...inChoice }],
    ...fields,
  });

const choiceOf = (inChoice: JsonObject) => ({ choices: [{ index: 0, delta: {}, finish_reason: "stop", ...inChoice }] });
const text = chunk({ content: "hello" });
const stop = chunk({}, "stop");
const streamed = (fields: JsonObject, inChoice?: JsonObject) =>
  streams({
    events: inChoice === undefined ? [text, stop, { choices: [], ...fields }] : [text, choiceOf(inChoice)],
  });

describe("what is charged", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start({ policy: { upstream: { max_attempts: 1 } } });
  });
  afterAll(() => gateway.stop());

  async function chargedFor(behaviour: ReturnType<typeof replies>, body: JsonObject): Promise<number> {
    const before = (await gateway.ledger()).spent;
    gateway.upstream.next(behaviour);
    const reply = await gateway.chat({ ...bound, ...body });
    expect(reply.status).toBe(200);
    await reply.text();
    return (await gateway.ledger()).spent - before;
  }

  test.each(rows)("for %s", async (...[, fields, billed, inChoice]) => {
    const charged = [
      await chargedFor(whole(fields, inChoice), { stream: false }),
      await chargedFor(streamed(fields, inChoice), { stream: true }),
    ];
    if (billed !== null) expect(charged).toEqual([billOf(billed), billOf(billed)]);
    else for (const hold of charged) expect(hold).toBeWithin(leastHold, mostHold);
  });
});
