import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { replies } from "#simulator/behaviours.ts";
import type { Script } from "#simulator/simulator.ts";
import { chunk, streams, usageChunk } from "#simulator/testing/scripted.ts";
import { type Answer, authorization, eventually, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";
import { readStream } from "../../harness/sse.ts";

/** Fields of a request that change the model, the terms or the price, with an upstream that honours and bills them. */

const flash = upstreamIds["vendor_v4_flash"] ?? "";
const cap = 0.01;
const tightBudget = { budget: { per_goal_hard_usd: cap, per_goal_soft_usd: cap } };

/** The upstream states every cost, and keeps its own bill. */
function bills(costUsd: (body: Answer) => number, model = flash): Script {
  return (request) => {
    const cost = costUsd(request.body);
    return replies(200, answer({ model, cost }), { bills: Math.round(cost * 1e9) });
  };
}

function answer({ model = flash, cost }: { model?: string; cost?: number }): JsonObject {
  return {
    id: "gen-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
    usage: {
      prompt_tokens: 10,
      completion_tokens: 10,
      total_tokens: 20,
      ...(cost === undefined ? {} : { cost }),
    },
  };
}

/** Sends this many at once; returns how many were answered. */
async function together(gateway: TestGateway, count: number, body: JsonObject, goal = "parallel"): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: count }, async () => {
      const reply = await gateway.chat(body, { "x-goal-id": goal });
      await reply.text();
      return reply.status;
    }),
  );
  return statuses.filter((status) => status === 200).length;
}

const restricted: [param: string, fields: JsonObject][] = jsonLines(
  import.meta.dir,
  "fixtures/restricted-fields.jsonl",
);

describe("a field that may change the model, the terms or the price", () => {
  test("is refused with 422 that names it and the policy's key, and nothing is sent", async () => {
    await using gateway = await start();
    for (const [at, [param, fields]] of restricted.entries()) {
      const refused = await gateway.chat({ ...fields, stream: at % 2 === 0 }, { "x-smart-gateway-errors": "openai" });
      const { detail, error }: Answer = await refused.json();
      expect([param, refused.status, error.param, error.code]).toEqual([param, 422, param, "field_refused"]);
      expect(detail).toStartWith(`${param} `);
      expect(detail).toContain(`upstream.fields.${Object.keys(fields)[0]})`);
      expect(detail).not.toContain("unheard_of");
      expect(refused.headers.get("x-should-retry")).toBe("false");
    }
    expect(gateway.upstream.received()).toBe(0);
  });

  test("is forwarded unchanged if its value is harmless, null and empty values too", async () => {
    await using gateway = await start();
    const harmless: JsonObject[] = jsonLines(import.meta.dir, "fixtures/harmless-fields.jsonl");
    for (const fields of harmless) {
      const index = gateway.upstream.received();
      const reply = await gateway.chat(fields);
      expect([reply.status, Object.keys(fields)]).toEqual([200, Object.keys(fields)]);
      expect((await gateway.upstream.request(index)).body).toMatchObject(fields);
    }
  });

  test("that the operator allows is held with its fee, so that the cap holds", async () => {
    const fee = 0.003;
    await using gateway = await start({
      policy: { ...tightBudget, upstream: { fields: { plugins: { action: "forward", fee_usd: fee } } } },
      script: bills(() => fee),
    });
    const answered = await together(gateway, 50, { max_tokens: 10, plugins: [{ id: "web" }] });
    expect(answered).toBeGreaterThan(0);
    expect(gateway.upstream.billedNanoUsd()).toBeLessThanOrEqual(cap * 1e9);
    expect((await gateway.ledger()).spent).toBe(gateway.upstream.billedNanoUsd());
  });

  test("that the operator allows with a price factor raises the price limit of the call", async () => {
    await using gateway = await start({
      policy: { upstream: { price_limit: "on", fields: { service_tier: { action: "forward", price_factor: 2 } } } },
      models: { vendor_v4_flash: { prices: { input: 0.1, cached_input: 0.01, output: 0.2 } } },
    });
    await (await gateway.chat()).text();
    await (await gateway.chat({ service_tier: "priority" })).text();
    const limits = gateway.upstream.requests.map(({ body }) => (body as Answer).provider.max_price);
    expect(limits).toEqual([
      { prompt: 0.1, completion: 0.2, request: 0 },
      { prompt: 0.2, completion: 0.4, request: 0 },
    ]);
  });

  test("that the operator drops is forwarded without its harmful part, and long integers keep their spelling", async () => {
    await using gateway = await start({
      policy: { upstream: { fields: { tools: "drop", provider: "drop", models: "drop", turbo: "drop" } } },
    });
    const big = "18446744073709551615";
    const fields =
      `"models":["a/b"],"turbo":1,"provider":{"data_collection":"allow","order":["a"]},` +
      `"tools":[{"type":"web_search"},{"type":"function","function":{"name":"f","parameters":{"maximum":${big}}}}]`;
    const body = `{"model":"smart-router-flash","messages":[{"role":"user","content":"hi"}],${fields}}`;
    expect((await gateway.chat({}, {}, { body })).status).toBe(200);
    const sent = await gateway.upstream.request(0);
    expect(sent.rawBody).toContain(`"maximum":${big}`);
    expect(sent.body).not.toHaveProperty("models");
    expect(sent.body).not.toHaveProperty("turbo");
    expect(sent.body?.["provider"]).toEqual({ order: ["a"] });
    expect(sent.body?.["tools"]).toHaveLength(1);
  });

  test("that the operator allows still sends nothing sensitive to a free model or on open terms", async () => {
    await using gateway = await start({
      policy: { upstream: { fields: { models: "forward", provider: "forward" } } },
    });
    for (const fields of [{ models: ["x/y:free"] }, { provider: { data_collection: "allow" } }]) {
      const refused = await gateway.chat(fields);
      expect(refused.status).toBe(403);
      expect((await refused.json()).detail).toContain(Object.keys(fields)[0]);
    }
    // A redaction makes a request sensitive again.
    const key = ["ghp", "016C7e1f9a2B3c4D5e6F7a8B9c0D1e2F3a4B"].join("_");
    const redacted = await gateway.chat({
      models: ["x/y:free"],
      metadata: { sensitive: false },
      messages: [{ role: "user", content: `token ${key}` }],
    });
    expect(redacted.status).toBe(403);
    expect(gateway.upstream.received()).toBe(0);
    expect((await gateway.chat({ models: ["x/y:free"], metadata: { sensitive: false } })).status).toBe(200);
  });
});

describe("the hold of a request", () => {
  /** Writes as much as it may by the names that it reads; without one of them, 8,000 tokens. Many servers read 0 as no limit. */
  const writesAll = (body: Answer, reads: string[]) => {
    const most = (names: string[]) =>
      Math.max(0, ...names.map((way) => Number(way.split(".").reduce((value, name) => value?.[name], body)) || 0));
    const limits = reads.filter((way) => /max|predict/i.test(way));
    const output = (most(limits) || 8_000) * (most(reads.filter((way) => !limits.includes(way))) || 1);
    const predicted = JSON.stringify(body.prediction?.content ?? "").length;
    return ((output + most(["reasoning.max_tokens", "thinking.budget_tokens"]) + predicted) * 280) / 1e9;
  };
  const thinking = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } });
  const usual = ["max_tokens", "max_completion_tokens", "n", "best_of"];
  const bounded: [what: string, fields: JsonObject, reads?: string[]][] = [
    ["max_completion_tokens where only max_tokens is read", { max_completion_tokens: 10 }, ["max_tokens"]],
    ["null beside it", { max_completion_tokens: 10, max_tokens: null }, ["max_tokens"]],
    ["num_return_sequences", { max_tokens: 2_000, num_return_sequences: 3 }, ["max_tokens", "num_return_sequences"]],
    ["candidate_count", { max_tokens: 2_000, candidate_count: 3 }, ["max_tokens", "candidate_count"]],
    ["options.num_predict", { max_tokens: 10, options: { num_predict: 9_000 } }, ["options.num_predict"]],
    [
      "generationConfig",
      { max_tokens: 10, generationConfig: { maxOutputTokens: 3_000, candidateCount: 3 } },
      ["generationConfig.maxOutputTokens", "generationConfig.candidateCount"],
    ],
    ["max_tokens 0", { max_tokens: 0 }],
    ["max_completion_tokens 0", { max_completion_tokens: 0 }],
    ["one of two limits 0", { max_tokens: 0, max_completion_tokens: 2_000 }],
    ["best_of", { max_tokens: 2_000, best_of: 3 }],
    ["n", { max_tokens: 2_000, n: 3 }],
    ["reasoning.max_tokens", { max_tokens: 10, reasoning: { max_tokens: 9_000 } }],
    ["thinking.budget_tokens", { max_tokens: 10, ...thinking(9_000) }],
    ["reasoning.max_tokens in quotes", { max_tokens: 10, reasoning: { max_tokens: "9000" } }],
    ["reasoning.max_tokens alone", { reasoning: { max_tokens: 60_000 } }],
    ["prediction", { max_tokens: 10, prediction: { type: "content", content: "x".repeat(9_000) } }],
  ];
  test("is all that may be billed", async () => {
    const models = { vendor_v4_flash: { default_output_tokens: 4_000 } };
    await using gateway = await start({ policy: tightBudget, models });
    for (const [what, fields, reads = usual] of bounded) {
      gateway.upstream.follow(bills((body) => writesAll(body, reads)));
      const before = gateway.upstream.billedNanoUsd();
      await together(gateway, 20, fields, what);
      const billed = gateway.upstream.billedNanoUsd();
      expect([what, billed - before <= cap * 1e9]).toEqual([what, true]);
      expect((await gateway.ledger()).spent).toBe(billed);
    }
  });
});

describe("an upstream that answers with another model", () => {
  const other = "openai/o1-pro";

  test("is neither logged nor recorded by a name that is a credential", async () => {
    const secret = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
    await using gateway = await start({ script: bills(() => 0.25, secret) });
    const reply = await gateway.chat();
    const id = reply.headers.get("x-smart-gateway-decision-id");
    let record = "";
    await eventually(async () => {
      record = await (await gateway.get(`/v1/route/decisions/${id}`, authorization)).text();
      return record.includes("other_model");
    });
    expect(record).toContain("REDACTED:github_token");
    expect(`${record}${JSON.stringify(gateway.log)}`).not.toContain(secret.slice(-20));
  });

  test("is passed on in every chunk of a stream, logged, counted, and charged at its cost", async () => {
    await using gateway = await start();
    const usage = { ...usageChunk({ input: 1, output: 1, costUsd: 0.25 }), model: other };
    const words = Array.from({ length: 8 }, (_, at) => chunk({ content: `word ${at} ` }, null, { model: other }));
    const stop = chunk({ content: "" }, "stop", { model: other });
    gateway.upstream.next(streams({ events: [...words, stop, usage], bills: 250_000_000 }));
    const { chunks, done } = await readStream(
      await gateway.chat({ stream: true, stream_options: { include_usage: true } }),
    );
    expect(done).toBe(true);
    expect([...new Set(chunks.map((chunk) => chunk.model))]).toEqual([other]);
    expect((await gateway.ledger()).spent).toBe(250_000_000);
    expect(gateway.log.filter(({ event }) => event === "other_model_answered")).toHaveLength(1);
  });

  test("is charged at that model's price if it states no cost, the registry has the model, and its price is higher", async () => {
    await using gateway = await start();
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
    const spent: number[] = [];
    for (const model of [upstreamIds["vendor_v4_pro"] ?? "", "unheard/of"]) {
      gateway.upstream.next(replies(200, { ...answer({ model }), usage }, { bills: 0 }));
      const before = (await gateway.ledger()).spent;
      await (await gateway.chat()).text();
      spent.push((await gateway.ledger()).spent - before);
    }
    expect(spent).toEqual([1_000 * 435 + 100 * 870, 1_000 * 140 + 100 * 280]);
    const logged = gateway.log.filter(({ event }) => event === "other_model_answered");
    expect(logged.map(({ fields }) => fields["cost_stated"])).toEqual([false, false]);
  });
});
