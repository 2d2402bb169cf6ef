import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import type { Settings } from "#config/settings.ts";
import { LiveConfiguration } from "#gateway/live-configuration.ts";
import { replies } from "#simulator/behaviours.ts";
import { chunk, silent, streams } from "#simulator/testing/scripted.ts";
import { start } from "../harness/gateway.ts";

const error = { error: { code: 503, message: "no host answers" } };
const page = "<html><body>503 Service Unavailable</body></html>";
const usage = { prompt_tokens: 7, completion_tokens: 0, cost: 0.00001 };
const begun = streams({ events: [chunk({ content: "hi" }), error], end: "fin" });

describe("a failed call at an aggregator that does not bill what it answers with an error", () => {
  test("costs nothing if there is an error status, an error object, and neither usage nor output", async () => {
    const upstream = { failed_calls_billed: "never" as const, max_attempts: 1, timeouts_ms: { headers: 200 } };
    await using gateway = await start({ policy: { upstream } });
    let { held, spent } = await gateway.ledger();
    for (const [what, answer, stream, isHeld, cost] of [
      ["an error status with an error object", replies(503, error), false, false, 0],
      ["the same of a stream", replies(503, error), true, false, 0],
      ["an error in a 200", replies(200, error), false, false, 0],
      ["an error as a stream's first event", streams({ events: [error], end: "fin" }), true, false, 0],
      ["an error with its cost", replies(200, { ...error, usage }), false, false, 10_000],
      ["a status without a body", replies(503, ""), false, true, 0],
      ["the page of a proxy", replies(503, page), false, true, 0],
      ["an error behind output", begun, true, true, 0],
      ["a time-out", silent(), false, true, 0],
    ] as const) {
      gateway.upstream.follow(() => answer);
      await (await gateway.chat({ stream, max_tokens: 1_000 })).text();
      const now = await gateway.ledger((totals) => totals.held > held === isHeld && totals.spent === spent + cost);
      expect([what, now.held > held, now.spent - spent]).toEqual([what, isHeld, cost]);
      ({ held, spent } = now);
    }
  });

  test("is held elsewhere, until its cost is known", async () => {
    await using gateway = await start({ policy: { upstream: { max_attempts: 1 } }, script: () => replies(503, error) });
    await (await gateway.chat()).text();
    expect((await gateway.ledger(({ held }) => held > 0)).spent).toBe(0);
  });
});

test("without a word of the policy, such an aggregator is OpenRouter", () => {
  const isFree = (baseUrl: string, failed_calls_billed: "auto" | "always" | "never") => {
    const settings = { upstream: { kind: "aggregator", baseUrl, apiKey: undefined } } as unknown as Settings; // the part that is read
    const policy = Policy.parse({ upstream: { failed_calls_billed } });
    const config = { policy, registry: { models: new Map(), byRole: {} } } as never; // no model is asked for
    return new LiveConfiguration(settings, () => {}, config).current().failedCallsFree;
  };
  const [openRouter, other] = ["https://openrouter.ai/api/v1", "https://models.example.com/v1"] as const;
  expect([isFree(openRouter, "auto"), isFree(openRouter, "always")]).toEqual([true, false]);
  expect([isFree(other, "auto"), isFree(other, "never")]).toEqual([false, true]);
});
