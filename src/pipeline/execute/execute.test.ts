import { describe, expect, test } from "bun:test";
import type { Model } from "#domain/model.ts";
import type { HealthRegistry } from "#health/health.ts";
import { healthRegistry } from "#health/registry.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import type { Ledger } from "#ledger/ledger.ts";
import { MemoryStore } from "#ledger/testing/memory-store.ts";
import { aPolicy, aRegistry, dollars, emergencyModel, seniorModel, workerModel } from "#pipeline/decide/fixtures.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import type { Ports } from "#pipeline/ports.ts";
import { manualTime } from "#platform/manual-time.ts";
import { capsOf } from "#policy/caps.ts";
import { privacyEngine } from "#privacy/engine.ts";
import type { FailureKind, UpstreamCall, UpstreamFailure, UpstreamReply } from "#upstream/upstream.ts";
import { type Execution, execute } from "./execute.ts";
import type { ExecutionPlan } from "./plan.ts";
import { retryBudget } from "./retry-budget.ts";

type Scripted = UpstreamReply | ((call: UpstreamCall) => UpstreamReply);

const answer: UpstreamReply = {
  kind: "answer",
  answer: { choices: [{ message: { content: "hi" } }] },
  raw: '{"choices":[{"message":{"content":"hi"}}]}',
  report: {},
  firstByteMs: 5,
};
const fails = (kind: FailureKind, more: Partial<UpstreamFailure> = {}): UpstreamReply => ({
  kind: "failure",
  failure: { kind, message: "", dispatched: kind !== "unreachable", ...more },
});

async function setUp(script: Scripted[], given: { policy?: Parameters<typeof aPolicy>[0]; candidates?: Model[] } = {}) {
  const time = manualTime();
  const policy = aPolicy(given.policy);
  const registry = aRegistry();
  const ledger: Ledger = await BatchedLedger.open(new MemoryStore(time.clock), "node", {
    clock: time.clock,
    timers: time.timers,
    random: () => 0.5,
    log: () => {},
    retentionMs: () => 86_400_000,
  });
  const health: HealthRegistry = healthRegistry({
    models: () => registry,
    rules: () => policy.health,
    clock: time.clock,
    random: () => 0.5,
  });
  const calls: UpstreamCall[] = [];
  const waits: number[] = [];
  const remaining = [...script];
  const configuration = {
    policy,
    registry,
    caps: capsOf(policy),
    fields: fieldRulesOf(policy),
    privacy: privacyEngine(policy.privacy),
  };
  const ports = {
    clock: time.clock,
    timers: {
      after: (ms: number, callback: () => void) => {
        waits.push(ms);
        queueMicrotask(() => {
          time.advance(ms);
          callback();
        });
        return () => {};
      },
    },
    random: () => 0.5,
    ledger,
    health,
    retryBudget: retryBudget(time.clock, () => policy.upstream),
    upstream: {
      async send(call: UpstreamCall) {
        calls.push(call);
        const next = remaining.shift();
        if (next === undefined) throw new Error("the script has no more replies");
        return typeof next === "function" ? next(call) : next;
      },
    },
  } as unknown as Ports; // the parts that executing does not use are omitted
  const caller = new AbortController();
  const plan: ExecutionPlan = {
    decisionId: "d1",
    goal: "s/g",
    stream: false,
    purpose: "EXECUTE",
    candidate: (place) => (given.candidates ?? [workerModel, seniorModel, emergencyModel])[place],
    bodyFor: (model) => ({ model: model.upstreamId }),
    bodyBytes: 100,
    size: {
      inputTokensBound: 0,
      inputTokensEstimate: 0,
      requestedOutputTokens: 0,
      choices: 1,
      surcharge: { fields: [], fee: dollars(0.01), factor: 1 },
    },
    inputTokensBound: undefined,
    permitFor: (permit) => permit,
    firstAttempt: 1,
    maxAttempts: policy.upstream.max_attempts,
    configuration,
    deadlineMs: 600_000,
    pricedByCost: false,
    hostsNarrowed: false,
  };
  const run = (): Promise<Execution> => execute(plan, ports, caller.signal);
  const asked = () => calls.map((call) => call.model.key);
  const spend = async () => {
    const seen = await ledger.read("s/g");
    if (seen === undefined) throw new Error("the ledger does not answer");
    return seen.goalAccount;
  };
  return { run, asked, waits, spend, caller, health, ledger, plan };
}

describe("attempts", () => {
  test("the first usable answer is returned, and its money stays held until it is settled", async () => {
    const { run, asked, spend } = await setUp([answer]);
    expect((await run()).kind).toBe("answered");
    expect(asked()).toEqual(["vendor_v4_flash"]);
    expect(await spend()).toEqual({ spent: dollars(0), held: dollars(0.01) });
  });

  test("a failing model is retried once, after a back-off with full jitter, then the next one is called", async () => {
    const { run, asked, waits } = await setUp([fails("upstream_error", { status: 500 }), fails("cut_off"), answer]);
    expect((await run()).kind).toBe("answered");
    expect(asked()).toEqual(["vendor_v4_flash", "vendor_v4_flash", "vendor_v4_pro"]);
    expect(waits).toEqual([50]);
  });

  test("no request makes more than upstream.max_attempts calls, and the last failure is the one reported", async () => {
    const { run, asked } = await setUp([
      fails("upstream_error", { status: 500 }),
      fails("upstream_error", { status: 502 }),
      fails("upstream_error", { status: 503 }),
    ]);
    expect(await run()).toMatchObject({ kind: "failed", failure: { status: 503 }, model: "vendor_v4_pro" });
    expect(asked()).toHaveLength(3);
  });

  test.each<FailureKind>(["rejected", "unauthorized", "redirected"])(
    "%s is final: no other model would answer differently",
    async (kind) => {
      const { run, asked } = await setUp([fails(kind, { status: 400 })]);
      expect((await run()).kind).toBe("failed");
      expect(asked()).toHaveLength(1);
    },
  );

  test("a time-out fails over to the next model at once", async () => {
    const { run, asked, waits } = await setUp([fails("timed_out"), answer]);
    await run();
    expect(asked()).toEqual(["vendor_v4_flash", "vendor_v4_pro"]);
    expect(waits).toEqual([]);
  });

  test("a short Retry-After is waited for, a long one fails over", async () => {
    const short = await setUp([fails("rate_limited", { status: 429, retryAfterMs: 1_000 }), answer]);
    await short.run();
    expect(short.asked()).toEqual(["vendor_v4_flash", "vendor_v4_flash"]);
    expect(short.waits).toEqual([1_000]);
    const long = await setUp([fails("rate_limited", { status: 429, retryAfterMs: 60_000 }), answer]);
    await long.run();
    expect(long.asked()).toEqual(["vendor_v4_flash", "vendor_v4_pro"]);
    const unsaid = await setUp([fails("rate_limited", { status: 429 }), answer]);
    await unsaid.run();
    expect(unsaid.asked()).toEqual(["vendor_v4_flash", "vendor_v4_pro"]);
  });

  test("a stale keep-alive socket is retried once, at no cost in attempts or health", async () => {
    const stale = fails("cut_off", { staleSocket: true });
    const { run, asked, health, waits } = await setUp([stale, answer]);
    await run();
    expect(asked()).toEqual(["vendor_v4_flash", "vendor_v4_flash"]);
    expect(waits).toEqual([]);
    expect(health.view()["vendor_v4_flash"]?.state).toBe("HEALTHY");
  });

  test("the message of an upstream failure is redacted before it is used", async () => {
    const token = ["ghp", "_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
    const { run } = await setUp([fails("rejected", { status: 400, message: `no such thing: ${token}` })]);
    const execution = await run();
    expect(execution).toMatchObject({ kind: "failed" });
    expect(JSON.stringify(execution)).not.toContain("k1L2m3N4");
  });
});

describe("money, attempt by attempt", () => {
  test("a refused call costs nothing; one with an unknown outcome stays held beside the next", async () => {
    const refused = await setUp([fails("rejected", { status: 400 })]);
    await refused.run();
    expect(await refused.spend()).toEqual({ spent: dollars(0), held: dollars(0) });
    const unknown = await setUp([fails("timed_out"), answer]);
    await unknown.run();
    expect(await unknown.spend()).toEqual({ spent: dollars(0), held: dollars(0.02) });
  });

  test("a 4xx that is not known to be free counts as billed", async () => {
    const { run, spend } = await setUp([fails("rejected", { status: 418 })]);
    await run();
    expect((await spend()).held).toBe(dollars(0.01));
  });

  test("a connection that was never established costs nothing", async () => {
    const { run, spend } = await setUp([fails("unreachable"), fails("unreachable"), fails("unreachable")]);
    expect(await run()).toMatchObject({ kind: "failed", failure: { kind: "unreachable" } });
    expect(await spend()).toEqual({ spent: dollars(0), held: dollars(0) });
  });

  test("every attempt is checked against the cap: money held by an unknown outcome is not available to the next", async () => {
    const { run, asked } = await setUp([fails("timed_out")], { policy: { budget: { per_goal_hard_usd: 0.015 } } });
    expect(await run()).toMatchObject({ kind: "failed", failure: { kind: "timed_out" } });
    expect(asked()).toHaveLength(1);
  });

  test("the hard cap refuses before anything is sent", async () => {
    const { run, asked } = await setUp([], { policy: { budget: { per_goal_hard_usd: 0.001 } } });
    expect(await run()).toMatchObject({ kind: "refused", reply: { binding: "goal" } });
    expect(asked()).toEqual([]);
  });

  test("a store that is unavailable sends nothing", async () => {
    const { run, asked, ledger } = await setUp([]);
    await ledger.close(0);
    expect((await run()).kind).toBe("unavailable");
    expect(asked()).toEqual([]);
  });

  test("if the caller disconnects while money is being held, the hold is released", async () => {
    const { run, caller, spend, asked } = await setUp([]);
    caller.abort();
    expect((await run()).kind).toBe("caller_gone");
    expect(asked()).toEqual([]);
    expect(await spend()).toEqual({ spent: dollars(0), held: dollars(0) });
  });

  test("if the caller disconnects during a call, the call is charged, never free", async () => {
    const { run, spend } = await setUp([fails("aborted")]);
    expect((await run()).kind).toBe("caller_gone");
    expect(await spend()).toEqual({ spent: dollars(0.01), held: dollars(0) });
  });
});

describe("health", () => {
  test("an unroutable model is skipped; if none is left there is no capacity", async () => {
    const { run, health, asked } = await setUp([answer], { candidates: [workerModel, seniorModel] });
    for (let failure = 0; failure < 5; failure++)
      health.admit("vendor_v4_flash")?.report({ kind: "failure", reason: "x" });
    await run();
    expect(asked()).toEqual(["vendor_v4_pro"]);
    const none = await setUp([], { candidates: [] });
    expect((await none.run()).kind).toBe("no_capacity");
  });
});
