import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { goalIdOf } from "#domain/goal.ts";
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

describe("aliases", () => {
  test("smart-router uses the pipeline: an easy request goes to flash", async () => {
    const routed = await route(asking("Say hello."));
    expect(routed).toMatchObject({
      status: 200,
      called: ["vendor_v4_flash"],
      action: "ROUTE",
      model: "vendor_v4_flash",
    });
  });

  test("smart-router-flash goes to flash", async () => {
    expect(await route({ model: "smart-router-flash" })).toMatchObject({
      called: ["vendor_v4_flash"],
      cause: "explicit_flash",
    });
  });

  test("smart-router-pro goes to pro", async () => {
    expect(await route({ model: "smart-router-pro" })).toMatchObject({
      called: ["vendor_v4_pro"],
      cause: "explicit_pro",
    });
  });

  test("smart-router-free is answered by the free model if the request is not sensitive", async () => {
    expect(await route({ model: "smart-router-free", metadata: open })).toMatchObject({
      status: 200,
      called: ["vendor_free_scout"],
      action: "ROUTE",
      cause: "explicit_free",
    });
  });

  test("smart-router-free is refused with 403 if the request is sensitive, which is the default", async () => {
    for (const metadata of [undefined, { sensitive: true }, { sensitive: null }]) {
      const routed = await route({ model: "smart-router-free", ...(metadata && { metadata }) });
      expect(routed).toMatchObject({
        status: 403,
        called: [],
        action: "DENY",
        cause: "privacy_free_denied",
        model: "",
      });
    }
  });

  test("the answer names the real model, not the alias", async () => {
    expect((await route({ model: "smart-router-pro" })).body.model).toBe(upstreamIds["vendor_v4_pro"]);
  });

  test("a secret in the text makes a request sensitive again", async () => {
    const secret = ["ghp", "_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].join("");
    const routed = await route({ model: "smart-router-free", metadata: open, ...asking(`token ${secret}`) });
    expect(routed).toMatchObject({ status: 403, called: [], cause: "privacy_free_denied" });
    expect(JSON.stringify(routed.body)).not.toContain(secret);
  });

  test("a refused free or scout request reads what made it sensitive, and what would help", async () => {
    const secret = ["ghp", "_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].join("");
    const detailOf = async (body: JsonObject, headers = {}) => (await route(body, headers)).body.detail;
    const free = { model: "smart-router-free" };
    const inRepository = { repo_context_present: true };
    expect(await detailOf(free)).toContain('Send "metadata": {"sensitive": false} if it holds nothing private, or use');
    expect(await detailOf({ ...free, metadata: inRepository })).toContain(
      'and "repo_free_opt_in": true because it holds',
    );
    const openRepository = await detailOf({ ...free, metadata: { ...open, ...inRepository } });
    expect(openRepository).toContain("this request holds repository context");
    expect(openRepository).not.toContain("sensitive");
    for (const withSecret of [
      await detailOf({ ...free, metadata: open, ...asking(`token ${secret}`) }),
      await detailOf({ metadata: open, ...asking(`token ${secret}`) }, { "x-scout": "true" }),
    ]) {
      expect(withSecret).toMatch(
        /found a credential .*\(\w+ in messages\[0\]\), so it is sensitive whatever metadata.sensitive is/,
      );
      expect(withSecret).not.toContain('{"sensitive": false}');
    }
  });
});

describe("metadata", () => {
  test("reasoning: high goes to pro", async () => {
    expect(await route({ metadata: { reasoning: "high" } })).toMatchObject({
      called: ["vendor_v4_pro"],
      cause: "reasoning_high",
    });
  });

  test("[reasoning:high] in the newest user message goes to pro; elsewhere it has no effect", async () => {
    expect(await route(asking("[reasoning:high] Say hello."))).toMatchObject({ cause: "reasoning_high" });
    const elsewhere = [
      { role: "system", content: "[reasoning:high]" },
      { role: "user", content: "[reasoning:high] before" },
      { role: "assistant", content: "[reasoning:high]" },
      { role: "user", content: "Say hello." },
    ];
    expect(await route({ messages: elsewhere })).toMatchObject({ called: ["vendor_v4_flash"], cause: "score_flash" });
  });

  test("routing is a hint: pro and flash are followed, free only if privacy allows it", async () => {
    expect(await route({ metadata: { routing: "pro" } })).toMatchObject({
      called: ["vendor_v4_pro"],
      cause: "hint_pro",
    });
    expect(await route({ metadata: { routing: "flash" } })).toMatchObject({
      called: ["vendor_v4_flash"],
      cause: "hint_flash",
    });
    expect(await route({ metadata: { routing: "free", ...open } })).toMatchObject({
      called: ["vendor_free_scout"],
      cause: "hint_free",
    });
    expect(await route({ metadata: { routing: "free" } })).toMatchObject({
      status: 200,
      called: ["vendor_v4_flash"],
      cause: "score_flash",
    });
  });

  test("an alias takes precedence over the hint", async () => {
    expect(await route({ model: "smart-router-pro", metadata: { routing: "flash" } })).toMatchObject({
      cause: "explicit_pro",
    });
    expect(await route({ model: "smart-router-flash", metadata: { routing: "pro" } })).toMatchObject({
      cause: "explicit_flash",
    });
  });

  test("routing-task fields in metadata are used as stated", async () => {
    const guarded = { kind: "AUTH", risk_level: "HIGH" };
    expect(await route({ metadata: guarded })).toMatchObject({ called: ["vendor_v4_pro"], cause: "hard_pro_rule" });
    const hard = { reasoning_requirement: 1, ambiguity: 1, dependency_depth: 1, verification_difficulty: 1 };
    expect(await route({ metadata: hard })).toMatchObject({ called: ["vendor_v4_pro"], cause: "score_pro" });
  });

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
  test("X-Pro forces pro, in any letter case; false does not", async () => {
    expect(await route({}, { "x-pro": "true" })).toMatchObject({ called: ["vendor_v4_pro"], cause: "explicit_pro" });
    expect(await route({}, { "x-pro": "TRUE" })).toMatchObject({ cause: "explicit_pro" });
    expect(await route({}, { "x-pro": "false" })).toMatchObject({ cause: "score_flash" });
    expect(await route({ model: "smart-router-flash" }, { "x-pro": "true" })).toMatchObject({ cause: "explicit_pro" });
  });

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

  test("X-Failure-Class STRUCTURAL and X-Same-Error-Count of 2 escalate to pro", async () => {
    expect(await route({}, { "x-failure-class": "STRUCTURAL" })).toMatchObject({
      called: ["vendor_v4_pro"],
      cause: "hard_pro_rule",
    });
    expect(await route({}, { "x-failure-class": "LOCAL" })).toMatchObject({ called: ["vendor_v4_flash"] });
    expect(await route({}, { "x-failure-class": "NONE" })).toMatchObject({ called: ["vendor_v4_flash"] });
    expect(await route({}, { "x-same-error-count": "2" })).toMatchObject({
      called: ["vendor_v4_pro"],
      cause: "hard_pro_rule",
    });
    expect(await route({}, { "x-same-error-count": "1" })).toMatchObject({ called: ["vendor_v4_flash"] });
  });

  test("a hard rule takes precedence over an explicit flash", async () => {
    expect(await route({ model: "smart-router-flash" }, { "x-failure-class": "STRUCTURAL" })).toMatchObject({
      called: ["vendor_v4_pro"],
      cause: "hard_pro_rule",
    });
  });

  test("goals: a header takes precedence over metadata, X-Goal-Id over X-Smart-Gateway-Goal", async () => {
    const chargedGoals = async (session: string, headers: Record<string, string>): Promise<string[]> => {
      await route({ metadata: { session_id: session, goal_id: "a" } }, headers);
      const charged = await Promise.all(
        ["a", "b", "c"].map(async (goal) => {
          const spend = await gateway.gateway.ports.ledger.read(`${session}/${goal}`);
          return (spend?.goalAccount.spent ?? 0) + (spend?.goalAccount.held ?? 0) > 0 ? [goal] : [];
        }),
      );
      return charged.flat();
    };
    expect(await chargedGoals("one", {})).toEqual(["a"]);
    expect(await chargedGoals("two", { "x-smart-gateway-goal": "b" })).toEqual(["b"]);
    expect(await chargedGoals("three", { "x-smart-gateway-goal": "b", "x-goal-id": "c" })).toEqual(["c"]);
    expect(await chargedGoals("four", { "x-smart-gateway-session": "five" })).toEqual([]);
  });

  test("goals: session a/b with goal c is not session a with goal b/c", async () => {
    const spentBy = async (sessionId: string, goalId: string) => {
      const spend = await gateway.gateway.ports.ledger.read(goalIdOf({ sessionId, goalId }));
      return (spend?.goalAccount.spent ?? 0) + (spend?.goalAccount.held ?? 0);
    };
    await route({ metadata: { session_id: "slash/a", goal_id: "b" } }, {});
    expect(await spentBy("slash/a", "b")).toBeGreaterThan(0);
    expect(await spentBy("slash", "a/b")).toBe(0);
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
