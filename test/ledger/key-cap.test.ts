import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "#domain/chat.ts";
import { utcDayOf } from "#platform/time.ts";
import { backtest } from "#records/backtest/backtest.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { completes } from "#simulator/behaviours.ts";
import { after } from "#simulator/testing/scripted.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, eventually, type Reply, start, token } from "../harness/gateway.ts";

// Flash: 0.28 USD per million output tokens. 100,000 tokens are 0.028 USD, and a little for the prompt.
const large = { max_tokens: 100_000 };
const [ci, laptop, plain] = ["token-of-the-ci", "token-of-a-laptop", token] as const;

test("a key's day_hard_usd is a cap over all its tokens, goals and requests; others go on, and every place names it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-key-cap-"));
  const file = join(folder, "keys");
  const digest = (one: string) => createHash("sha256").update(one).digest("hex");
  const listed = [`${digest(ci)} ci day_hard_usd=0.05`, `${digest(laptop)} ci day_hard_usd=0.05`, digest(plain)];
  writeFileSync(file, listed.join("\n"));
  const url = `sqlite:${join(folder, "gateway.db")}`;
  let answering = Promise.withResolvers<void>();
  const options = { env: { AUTH_KEYS_FILE: file, DATABASE_URL: url } };
  await using gateway = await start({ ...options, script: () => after(answering.promise, completes()) });
  const chat = (token: string, body: JsonObject = large, goal = "one") =>
    gateway.chat(body, { authorization: `Bearer ${token}`, "x-goal-id": goal });
  const running = chat(ci);
  await eventually(() => gateway.upstream.received() === 1);

  const refused = await chat(laptop, large, "two");
  expect(refused.status).toBe(403);
  expect(refused.headers.get("x-smart-gateway-cause")).toBe("budget_hard_cap_exceeded");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  const { detail } = await refused.json();
  expect(detail).toMatch(
    /cap of the caller's key .* spent 0 USD, held 0\.028.* cap 0\.05 USD \(day_hard_usd of the key\)/,
  );
  const recordOf = async (reply: Reply): Promise<Answer> => {
    const id = reply.headers.get("x-smart-gateway-decision-id");
    let record: Answer;
    await eventually(async () => {
      const found = await gateway.get(`/v1/route/decisions/${id}`, { authorization: `Bearer ${plain}` });
      record = await found.json();
      return found.status === 200;
    });
    return record;
  };
  const record = await recordOf(refused);
  expect(record.evidence).toContain("budget_cap=key_hard");
  expect(record.inputs.spend.key).toMatchObject({ spent: 0, hard: 50_000_000 });
  expect(record.explanation.sentence).toContain("hard cap of the caller's key");

  // What fits is admitted: a smaller answer of the same key, and any of another.
  const others = [chat(ci, { max_tokens: 50_000 }, "two"), chat(plain, large, "two")];
  answering.resolve();
  expect(await Promise.all([running, ...others].map(async (reply) => (await reply).status))).toEqual([200, 200, 200]);
  await gateway.ledger();
  expect((await chat(laptop, large, "two")).status).toBe(200);

  // Several at once: the ledger, not the decision, finds that they do not fit together.
  answering = Promise.withResolvers();
  let answered = 0;
  const chats = [1, 2, 3, 4].map((goal) => chat(ci, large, `${goal}`).finally(() => answered++));
  await eventually(() => answered === 3);
  answering.resolve();
  const together = await Promise.all(chats);
  const late = together.filter(({ status }) => status === 403);
  expect(late.length).toBeGreaterThan(0);
  const records = await Promise.all(late.map(recordOf));
  expect(records.flatMap(({ evidence }) => evidence)).toContain("refused_by=ledger_key");
  // Decided again by the same policy, all of them are refused again.
  const store = await openRecordStore(url);
  const { policy, registry } = gateway.gateway.ports.config();
  const configuration = (hash: string) => store.config(hash);
  const again = await backtest({ records: store.export({}), policy, registry, configuration });
  expect([again.changes, again.before.refused]).toEqual([[], 1 + late.length]);
  await store.close();

  const account = `key/ci/${utcDayOf(Date.now())}`;
  const shown: Answer = JSON.parse((await runCommand(["budgets", "show", "--json"], { env: options.env })).out);
  expect(shown.keys).toMatchObject([
    { account, name: "ci", hard_nano_usd: 50_000_000, held_nano_usd: 0, cap_from: "key" },
  ]);
  expect((await runCommand(["budgets", "audit"], { env: options.env })).code).toBe(0);
  rmSync(folder, { recursive: true });
});
