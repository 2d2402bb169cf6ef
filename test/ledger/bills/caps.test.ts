import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { nanoUsd } from "#domain/money/money.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { type Answer, start } from "../../harness/gateway.ts";

/** Upstreams that bill more than their usage seems to say, and callers that ask for more than can be written: the bill is below the cap. */

const answer = { index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" };
/** Bills `tokens` of output by what it was sent, and states `usage`. */
function bills(tokens: (body: Answer) => number, usage: (output: number) => JsonObject, more = {}): Behaviour {
  return async (exchange) => {
    const output = tokens(exchange.request.body);
    exchange.bill(nanoUsd(32 * 140 + output * 280));
    const streams = exchange.request.body?.["stream"] === true;
    const delta = { index: 0, delta: { content: "hello" }, finish_reason: "stop" };
    const [head, body] = [{ id: "gen-1" }, { ...more, ...usage(output) }];
    exchange.head(200, { "content-type": streams ? "text/event-stream" : "application/json" }, "chunked");
    if (streams)
      for (const event of [
        { ...head, choices: [delta] },
        { ...head, choices: [], ...body },
      ])
        await exchange.event(event);
    else await exchange.part(JSON.stringify({ ...head, choices: [answer], ...body }));
    exchange.finish();
  };
}
const counts = (more: JsonObject) => ({ usage: { prompt_tokens: 32, ...more } });

const rows: [what: string, behaviour: Behaviour][] = [
  [
    "reasoning beside the completion",
    bills(
      () => 8_150,
      (all) =>
        counts({
          completion_tokens: 150,
          total_tokens: 32 + all,
          completion_tokens_details: { reasoning_tokens: 8_000 },
        }),
    ),
  ],
  [
    "reasoning that only the total shows",
    bills(
      () => 8_150,
      (all) => counts({ completion_tokens: 150, total_tokens: 32 + all }),
    ),
  ],
  [
    "no usage at all",
    bills(
      ({ max_tokens }) => max_tokens,
      () => ({}),
    ),
  ],
  [
    "a count of no output",
    bills(
      ({ max_tokens }) => max_tokens,
      () => counts({ completion_tokens: 0, total_tokens: 32 }),
    ),
  ],
];

describe("the bill stays below the cap with", () => {
  test.each(rows)("%s", async (_, behaviour) => {
    const capUsd = 0.05;
    for (const stream of [false, true]) {
      const budget = { per_day_hard_usd: capUsd, per_day_soft_usd: capUsd };
      await using gateway = await start({ policy: { budget }, script: () => behaviour });
      for (let calls = 0; calls < 10; calls++)
        await Promise.all(Array.from({ length: 8 }, async () => (await gateway.chat({ stream })).text()));
      const billed = gateway.upstream.billedNanoUsd();
      expect(billed).toBeWithin(1, capUsd * 1e9 + 1);
      expect((await gateway.ledger()).spent).toBeGreaterThanOrEqual(billed);
    }
  });
});

test("a caller who asks for more than any model writes, and leaves, holds and is charged no more than the model can write", async () => {
  await using gateway = await start({
    script: () => (exchange) => void exchange.head(200, { "content-type": "text/event-stream" }, "chunked"),
  });
  const leaving = new AbortController();
  const replies = Array.from({ length: 17 }, () =>
    gateway.chat({ stream: true, max_tokens: 17_800_000 }, {}, { signal: leaving.signal }).catch(() => undefined),
  );
  await gateway.upstream.request(16);
  // 131,072 tokens of output at 0.28 USD a million are 0.0367 USD.
  const { held } = await gateway.ledger(({ held }) => held > 17 * 36_700_160);
  expect(held).toBeLessThan(17 * 36_800_000);
  leaving.abort();
  await Promise.all(replies);
  expect((await gateway.ledger()).spent).toBe(held);
});
