import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { completes } from "#simulator/behaviours.ts";
import { type Answer, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

interface Routed {
  readonly status: number;
  /** Keys of the called models, in order. */
  readonly called: readonly string[];
  readonly action: string | null;
  readonly cause: string | null;
  readonly model: string | null;
  readonly body: Answer;
  readonly sent: JsonObject | undefined;
}

const keyOf = Object.fromEntries(Object.entries(upstreamIds).map(([key, id]) => [id, key]));

async function route(body: JsonObject, headers: Record<string, string> = {}): Promise<Routed> {
  const before = gateway.upstream.received();
  const response = await gateway.chat({ model: "smart-router", ...body }, headers);
  const calls = gateway.upstream.requests.filter((request) => request.index >= before);
  return {
    status: response.status,
    called: calls.map((call) => keyOf[String(call.body?.["model"])] ?? "?"),
    action: response.headers.get("x-smart-gateway-action"),
    cause: response.headers.get("x-smart-gateway-cause"),
    model: response.headers.get("x-smart-gateway-model"),
    body: await response.json(),
    sent: calls.at(-1)?.body,
  };
}

const asking = (content: string) => ({ messages: [{ role: "user", content }] });
const open = { sensitive: false };
const openHeader = { "X-Smart-Gateway-Sensitive": "False" };

const easy = asking("Say hello.");
const hard = { reasoning_requirement: 1, ambiguity: 1, dependency_depth: 1, verification_difficulty: 1 };
const newestAsk = (content: string) => ({ messages: [{ role: "user", content: "Hi" }, ...asking(content).messages] });
const elsewhere = [
  { role: "system", content: "[reasoning:high]" },
  { role: "user", content: "[reasoning:high] before" },
  { role: "assistant", content: "[reasoning:high]" },
  ...easy.messages,
];
const flash = "vendor_v4_flash";
const pro = "vendor_v4_pro";
const scout = "vendor_free_scout";
const failure = (value: string) => ({ "x-failure-class": value });
const errors = (value: string) => ({ "x-same-error-count": value });

/** What the caller states, and the cause and the model of its answer. */
const routes: [what: string, body: JsonObject, headers: Record<string, string>, cause: string, model: string][] = [
  ["smart-router: the pipeline decides", easy, {}, "score_flash", flash],
  ["smart-router-flash", { model: "smart-router-flash" }, {}, "explicit_flash", flash],
  ["smart-router-pro", { model: "smart-router-pro" }, {}, "explicit_pro", pro],
  ["smart-router-free, not sensitive", { model: "smart-router-free", metadata: open }, {}, "explicit_free", scout],
  ["reasoning: high", { metadata: { reasoning: "high" } }, {}, "reasoning_high", pro],
  ["[reasoning:high] in the newest message", newestAsk("[reasoning:high] Hi"), {}, "reasoning_high", pro],
  ["[reasoning:high] elsewhere", { messages: elsewhere }, {}, "score_flash", flash],
  ["routing: pro", { metadata: { routing: "pro" } }, {}, "hint_pro", pro],
  ["routing: flash", { metadata: { routing: "flash" } }, {}, "hint_flash", flash],
  ["the header says not sensitive", { model: "smart-router-free" }, openHeader, "explicit_free", scout],
  [
    "the header beats metadata",
    { model: "smart-router-free", metadata: { sensitive: true } },
    openHeader,
    "explicit_free",
    scout,
  ],
  ["routing: free, not sensitive", { metadata: { routing: "free", ...open } }, {}, "hint_free", scout],
  ["routing: free, sensitive: the hint is dropped", { metadata: { routing: "free" } }, {}, "score_flash", flash],
  ["an alias before a hint", { model: "smart-router-pro", metadata: { routing: "flash" } }, {}, "explicit_pro", pro],
  ["a kind and a risk", { metadata: { kind: "AUTH", risk_level: "HIGH" } }, {}, "hard_pro_rule", pro],
  ["stated dimensions", { metadata: hard }, {}, "score_pro", pro],
  ["X-Pro", {}, { "x-pro": "true" }, "explicit_pro", pro],
  ["X-Pro in capitals, before an alias", { model: "smart-router-flash" }, { "x-pro": "TRUE" }, "explicit_pro", pro],
  ["X-Pro: false", {}, { "x-pro": "false" }, "score_flash", flash],
  ["a structural failure", {}, failure("STRUCTURAL"), "hard_pro_rule", pro],
  ["a local failure", {}, failure("LOCAL"), "score_flash", flash],
  ["no failure", {}, failure("NONE"), "score_flash", flash],
  ["the same error twice", {}, errors("2"), "hard_pro_rule", pro],
  ["the same error once", {}, errors("1"), "score_flash", flash],
  ["a hard rule before an alias", { model: "smart-router-flash" }, failure("STRUCTURAL"), "hard_pro_rule", pro],
];

test.each(routes)("%s", async (_, body, headers, cause, model) => {
  expect(await route(body, headers)).toMatchObject({ status: 200, action: "ROUTE", cause, model, called: [model] });
});

describe("the free model", () => {
  test("is refused with 403 if the request is sensitive, which is the default", async () => {
    const refused = { status: 403, called: [], action: "DENY", cause: "privacy_free_denied", model: "" };
    const closed = await gateway.chat(
      { model: "smart-router-free", metadata: open },
      { "X-Smart-Gateway-Sensitive": "true" },
    );
    expect(closed.status).toBe(403);
    expect((await gateway.chat({}, { "X-Smart-Gateway-Sensitive": "no" })).status).toBe(422);
    for (const metadata of [undefined, { sensitive: true }, { sensitive: null }])
      expect(await route({ model: "smart-router-free", ...(metadata && { metadata }) })).toMatchObject(refused);
  });

  test("a secret in the text makes a request sensitive again", async () => {
    const secret = ["ghp", "_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].join("");
    const routed = await route({ model: "smart-router-free", metadata: open, ...asking(`token ${secret}`) });
    expect(routed).toMatchObject({ status: 403, called: [], cause: "privacy_free_denied" });
    expect(JSON.stringify(routed.body)).not.toContain(secret);
  });
});

describe("metadata", () => {
  test("the gateway's keys are not forwarded; the caller's are; an empty object is not", async () => {
    const ours = {
      ...open,
      reasoning: "auto",
      routing: "flash",
      session_id: "s",
      goal_id: "g",
      task_id: "t",
      repo_id: "r",
    };
    expect((await route({ metadata: { ...ours, ticket: 7, nested: { a: [null] } } })).sent?.["metadata"]).toEqual({
      ticket: 7,
      nested: { a: [null] },
    });
    expect((await route({ metadata: ours })).sent).not.toHaveProperty("metadata");
    expect((await route({})).sent).not.toHaveProperty("metadata");
  });
});

describe("headers", () => {
  test("X-Scout asks the scout first, and its verdict selects the model that answers", async () => {
    const routeWithVerdict = async (verdict: string) => {
      gateway.upstream.next(completes({ text: verdict }));
      return route({ metadata: open }, { "x-scout": "true" });
    };
    expect(await routeWithVerdict("PRO")).toMatchObject({
      status: 200,
      action: "SCOUT",
      model: "vendor_free_scout",
      called: ["vendor_free_scout", "vendor_v4_pro"],
    });
    expect(await routeWithVerdict("FLASH")).toMatchObject({ called: ["vendor_free_scout", "vendor_v4_flash"] });
    expect(await routeWithVerdict("Bananas!")).toMatchObject({
      status: 200,
      called: ["vendor_free_scout", "vendor_v4_flash"],
    });
  });

  test("X-Scout on sensitive data is refused with 403, and no model is called", async () => {
    expect(await route({}, { "x-scout": "true" })).toMatchObject({
      status: 403,
      called: [],
      action: "DENY",
      cause: "privacy_scout_denied",
    });
  });

  test("no gateway header is forwarded", async () => {
    const before = gateway.upstream.received();
    const ours = {
      "x-smart-gateway-session": "s",
      "x-smart-gateway-goal": "g",
      "x-task-id": "t",
      "x-goal-id": "g",
      "x-pro": "true",
      "x-failure-class": "NONE",
      "x-same-error-count": "0",
    };
    await gateway.chat({}, ours);
    const { headers } = await gateway.upstream.request(before);
    for (const name of Object.keys(ours)) expect(headers[name]).toBeUndefined();
  });
});
