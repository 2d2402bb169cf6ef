import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LearnedWeights } from "#domain/learned-weights.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord, someInputs } from "#records/fixtures.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { runCommand } from "../harness/command-line.ts";
import { start } from "../harness/gateway.ts";

const scratch = mkdtempSync(join(tmpdir(), "policy-learn-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;

const counts = Object.entries({ characters: 0, words: 0, distinct_words: 0, code_lines: 0, numbers: 0, math_signs: 0 });

/** Asks of many shapes: long ones fail on flash and are solved by pro, the others succeed. */
function records(count: number, rescued: number, nowMs = Date.now()): DecisionRecord[] {
  return Array.from({ length: count }, (_, n) => {
    const hard = n < rescued;
    const size = hard ? 5_000 + (n % 10) * 400 : 20 + (n % 50) * 3;
    return anAsk(n, { hard, size, score: (n * 37) % 90, nowMs });
  }).flat();
}

interface Ask {
  readonly hard: boolean;
  readonly size: number;
  readonly score: number;
  readonly nowMs: number;
}

/** An ask that flash has answered, and where it was hard the turn that went to pro. */
function anAsk(n: number, { hard, size, score, nowMs }: Ask): DecisionRecord[] {
  const atMs = nowMs - 600_000 - n * 10;
  const shared = {
    recorded_ms: atMs,
    at_ms: atMs,
    conversation: `c${n}`,
    features: Object.fromEntries(counts.map(([name]) => [name, size])),
    score,
  };
  const ask = aDecisionRecord(n * 2, {
    ...shared,
    decision_id: `d${n}`,
    cause: "score_flash",
    model: "vendor_v4_flash",
  });
  if (!hard) return [ask];
  const turn = aDecisionRecord(n * 2 + 1, {
    ...shared,
    recorded_ms: atMs + 1,
    at_ms: atMs + 1,
    decision_id: `t${n}`,
    cause: "hard_pro_rule",
    rule: "same_error_count",
    model: "vendor_v4_pro",
    inputs: { ...someInputs, continuation: true },
  });
  return [ask, turn];
}

/** Writes the records, and of each turn on pro that it has solved its ask. */
async function fill(url: string, all: readonly DecisionRecord[]): Promise<void> {
  const store = await openRecordStore(url);
  for (let at = 0; at < all.length; at += 100) await store.append(all.slice(at, at + 100));
  for (const { decision_id } of all) {
    if (!decision_id.startsWith("t")) continue;
    await store.reportOutcome({ decisionId: `d${decision_id.slice(1)}`, outcome: "solved", score: null });
  }
  await store.close();
}

/** A new folder with a policy that names a file of weights, and the command run in it. */
function inFolder() {
  const folder = join(scratch, `${++folders}`);
  const databaseUrl = `sqlite:${folder}/g.db`;
  const weights = join(folder, "w.json");
  const policy = join(folder, "policy.yaml");
  Bun.spawnSync(["mkdir", "-p", folder]);
  writeFileSync(policy, "routing:\n  learned:\n    weights_file: w.json\n");
  return {
    databaseUrl,
    weights,
    policy,
    learn: (...args: readonly string[]) =>
      runCommand(["policy", "learn", ...args], { cwd: folder, env: { DATABASE_URL: databaseUrl } }),
  };
}

test("shows the changes with intervals, writes nothing by default, and with --write weights that a gateway can load", async () => {
  const at = inFolder();
  await fill(at.databaseUrl, records(400, 80));
  const [shown, json] = await Promise.all([at.learn("policy.yaml"), at.learn("policy.yaml", "--json")]);
  expect([shown.code, json.code]).toEqual([0, 0]);
  for (const part of [
    "400 recorded asks and failed at 80",
    "asks routed to pro",
    "cost, with retries",
    "Nothing was written",
  ])
    expect(shown.out).toContain(part);
  expect(json.json()).toMatchObject({ asks: 400, failed: 80, rescue_trials: 80, rescued: 80, needed: 60 });
  expect(json.json().held_back.rescuedRank.change.low).toBeGreaterThan(0);
  expect(existsSync(at.weights)).toBe(false);

  const written = await at.learn("policy.yaml", "--write");
  expect(written.out).toContain(`Written: ${at.weights}`);
  const weights = LearnedWeights.parse(JSON.parse(readFileSync(at.weights, "utf8")));
  expect(weights).toMatchObject({ records: 400, rescue_trials: 80 });
});

test("refuses with too few rescue trials, by the policy's limit, and if the learned order is not better", async () => {
  const at = inFolder();
  await fill(at.databaseUrl, records(400, 40));
  const few = await at.learn("policy.yaml", "--write");
  expect(few.code).toBe(1);
  expect(few.out).toContain("40 rescue trials are too few");
  writeFileSync(at.policy, "routing: { learned: { min_rescue_trials: 30, weights_file: w.json } }\n");
  expect((await at.learn("policy.yaml")).code).toBe(0);

  // The same shapes everywhere: there is only noise to learn, and the shipped order is already right.
  const noise = inFolder();
  const nowMs = Date.now();
  const alike = Array.from({ length: 400 }, (_, n) =>
    anAsk(n, { hard: n < 80, size: 30 + ((n * 5) % 7) * 20, score: n < 80 ? 80 : 20, nowMs }),
  ).flat();
  await fill(noise.databaseUrl, alike);
  const refused = await noise.learn("policy.yaml", "--write", "--json");
  expect(refused.code).toBe(1);
  expect(refused.json().refused).toContain("no better than the shipped one");
  expect(existsSync(noise.weights)).toBe(false);
});

test("a gateway routes by the weights, and loads new ones without a restart", async () => {
  const at = inFolder();
  await fill(at.databaseUrl, records(400, 80));
  await at.learn("policy.yaml", "--write");
  const good = JSON.parse(readFileSync(at.weights, "utf8"));
  // The weights then make every ask worth pro, or none.
  const always = (score: number) => ({
    ...good,
    reach: 1e-9,
    score_knots: [
      [-1_000, score],
      [1_000, score + 0.001],
    ],
  });
  writeFileSync(at.weights, JSON.stringify(always(99)));
  const gateway = await start({ policy: { routing: { learned: { weights_file: at.weights } } } });
  try {
    const cause = async () => {
      const answer = await gateway.chat({
        model: "smart-router",
        messages: [{ role: "user", content: `hi ${Math.random()}` }],
      });
      return answer.headers.get("x-smart-gateway-cause");
    };
    expect(await cause()).toBe("score_pro");
    writeFileSync(at.weights, JSON.stringify(always(10)));
    expect((await gateway.gateway.reload()).kind).toBe("reloaded");
    expect(await cause()).toBe("score_flash");
    writeFileSync(at.weights, JSON.stringify({ ...good, feature_version: 7 }));
    expect((await gateway.gateway.reload()).kind).toBe("refused");
    expect(await cause()).toBe("score_flash");
    const dryRun = await gateway.decide({ instruction: "hi" });
    expect(dryRun.cause).toBe("score_flash");
  } finally {
    await gateway.stop();
  }
});
