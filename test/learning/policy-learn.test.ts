import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LoadedConfig, loadConfig } from "#config/load-config.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import { configurationNames } from "#records/replay/replay.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { runCommand } from "../harness/command-line.ts";
import { start } from "../harness/gateway.ts";

const scratch = mkdtempSync(join(tmpdir(), "policy-learn-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;

const shipped = (() => {
  const { config } = loadConfig({}) as LoadedConfig & { kind: "ok" };
  let kept = "";
  const hash = configurationNames((_, json) => {
    kept = json;
  })(config.policy, config.registry);
  return { hash, kept };
})();

const beganMs = Date.now() - 3_600_000;
const atMs = (n: number) => ({ recorded_ms: beganMs + n, at_ms: beganMs + n });

/** Asks that flash answered, with scores of 0 to 89: as the caller reports, flash failed at those from 50 on. */
const reported = (count: number): DecisionRecord[] =>
  Array.from({ length: count }, (_, n) =>
    aDecisionRecord(n, {
      ...{ ...atMs(n), decision_id: `d${n}`, conversation: `c${n}`, score: n % 90, policy_hash: shipped.hash },
      ...{ cause: "score_flash", model: "vendor_v4_flash" },
    }),
  );

/** Runs of ten calls; the `n`th has written 150 × n characters of prose by its end. */
const talkative = (count: number): DecisionRecord[] =>
  Array.from({ length: count * 10 }, (_, n) => {
    const [run, call] = [Math.floor(n / 10), n % 10];
    return aDecisionRecord(n, {
      ...{ ...atMs(n), decision_id: `r${n}`, conversation: `r${run}`, model: "vendor_v4_flash", policy_hash: null },
      inputs: { ...aDecisionRecord(n).inputs!, continuation: call > 0, prose: 15 * run * (call + 1) },
    });
  });

async function folderWith(records: readonly DecisionRecord[], policy: string, name = "policy.yaml") {
  const folder = join(scratch, `${++folders}`);
  mkdirSync(folder);
  const env = { DATABASE_URL: `sqlite:${folder}/g.db` };
  const store = await openRecordStore(env.DATABASE_URL);
  await store.saveConfig(shipped.hash, shipped.kept, beganMs);
  for (let at = 0; at < records.length; at += 100) await store.append(records.slice(at, at + 100));
  const reports = records.flatMap(({ decision_id: decisionId, score }) => {
    const outcome = score! < 50 ? ("solved" as const) : ("failed" as const);
    return decisionId.startsWith("d") ? [{ decisionId, outcome, score: null }] : [];
  });
  await store.reportOutcomes(
    reports.map(({ decisionId }) => decisionId),
    new Map(reports.map((report) => [report.decisionId, report])),
  );
  await store.close();
  const path = join(folder, name);
  if (policy !== "") writeFileSync(path, policy);
  return {
    text: () => readFileSync(path, "utf8"),
    learn: (...args: readonly string[]) =>
      runCommand(["policy", "learn", ...(policy === "" ? [] : [path]), ...args], { cwd: folder, env }),
  };
}

const withComments = "# ours\nrouting:\n  pro_from: 97 # high\nbudget: { per_goal_hard_usd: 3 }\n";

test("shows the thresholds that would have cost less, with both errors and what would have changed, and writes nothing", async () => {
  const at = await folderWith(reported(900), withComments);
  const [shown, json] = await Promise.all([at.learn(), at.learn("--json")]);
  expect([shown.code, json.code]).toEqual([0, 0]);
  for (const part of [
    "900 recorded asks and failed at 400",
    "in force",
    "better",
    "--write writes routing.flash_below",
  ])
    expect(shown.out).toContain(part);
  expect(json.json()).toMatchObject({
    ...{ asks: 900, failed: 400, written: false, run_prose: [] },
    advice: { inForce: { failedToFlash: 400, solvedToPro: 0 } },
    changes: { flash_below: 46, pro_from: 53 },
    changed: { requests: 900, hard: 400, easy: 500 },
  });
  expect(at.text()).toBe(withComments);
});

test("with --write changes only those keys of the policy file, and a gateway loads it", async () => {
  const at = await folderWith([...reported(900), ...talkative(120)], withComments);
  const { code, out } = await at.learn("--write");
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("Written to") });
  expect(at.text()).toBe(
    "# ours\nrouting:\n  pro_from: 53 # high\n  flash_below: 46\n  run_prose_chars: 16950\nbudget: { per_goal_hard_usd: 3 }\n",
  );
  await using gateway = await start({ policy: Bun.YAML.parse(at.text()) as object });
  expect(gateway.gateway.ports.config().policy.routing).toMatchObject({ flash_below: 46, run_prose_chars: 16_950 });
  expect((await at.learn("--write", "--json")).json()).toMatchObject({ changes: {}, written: false });
});

test("a policy in JSON stays JSON, and a bound of prose that is switched off stays off", async () => {
  const at = await folderWith([...reported(900), ...talkative(120)], '{"routing":{"run_prose_chars":0}}');
  expect((await at.learn("--write")).code).toBe(0);
  expect(JSON.parse(at.text())).toEqual({ routing: { run_prose_chars: 0, flash_below: 46, pro_from: 53 } });
});

test("says why it advises nothing, and why it has written nothing", async () => {
  const few = await (await folderWith(reported(50), withComments)).learn("--write");
  expect(few).toMatchObject({ code: 1, out: expect.stringContaining("Too few outcomes") });
  const nowhere = await (await folderWith(reported(900), "")).learn("--write");
  expect(nowhere).toMatchObject({ code: 1, out: expect.stringContaining("there is no policy file") });
});
