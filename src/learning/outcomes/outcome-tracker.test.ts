import { expect, test } from "bun:test";
import { openSqlite } from "#db/sqlite.ts";
import { manualTime } from "#platform/manual-time.ts";
import { outcomeRecord } from "./fixtures.ts";
import { StoredOutcomeTracker } from "./outcome-tracker.ts";
import { noSignals, type RoutedCall, type Signals } from "./outcomes.ts";
import { sqliteOutcomes } from "./store/sqlite-store.ts";

function aTracker(random: () => number = () => 0.99) {
  const time = manualTime();
  const db = openSqlite(":memory:");
  const base = sqliteOutcomes(db);
  const saves: number[] = [];
  let away = false;
  const tracker = new StoredOutcomeTracker({
    shared: false,
    openStore: async () => ({
      ...base,
      save: async (records) => {
        if (away) throw new Error("away");
        saves.push(records.length);
        await base.save(records);
      },
    }),
    retentionDays: () => 30,
    clock: time.clock,
    timers: time.timers,
    random,
  });
  let calls = 0;
  const call = (given: Partial<RoutedCall> = {}): string => {
    const decisionId = `d${++calls}`;
    const { tier = "flash" } = given;
    tracker.routed({
      decisionId,
      atMs: time.clock.now(),
      conversationKey: "k",
      continuation: false,
      tier,
      hardRule: false,
      reportedFailure: false,
      ask: `ask ${calls}`,
      decision: () => {
        const { retryOf: _, ...decision } = outcomeRecord("", 0, { tier }).decision;
        return decision;
      },
      ...given,
    });
    return decisionId;
  };
  const records = async () => {
    await tracker.save();
    return base.load(0);
  };
  const signalsOf = async (id: string): Promise<Signals | undefined> =>
    (await records()).find(({ decisionId }) => decisionId === id)?.signals;
  const setAway = (on: boolean) => {
    away = on;
  };
  return { time, tracker, call, records, signalsOf, saves, setAway, db };
}

const escalation = { continuation: true, tier: "pro", hardRule: true } as const;

test("an ask is written with its first signal; a further turn of it is not a record", async () => {
  const { call, records } = aTracker();
  const ask = call();
  call({ continuation: true });
  call({ continuation: true, conversationKey: "unknown" });
  expect(await records()).toEqual([]);
  call();
  expect((await records()).map(({ decisionId, signals }) => [decisionId, signals])).toEqual([
    [ask, { ...noSignals, wentOn: true }],
  ]);
});

test("of asks without a signal one in eight is written, with the weight eight", async () => {
  let draws = 0;
  const { call, records, signalsOf } = aTracker(() => (draws++ % 8) / 8);
  const asks = Array.from({ length: 24 }, (_, n) => call({ conversationKey: `k${n}` }));
  const written = await records();
  const standsFor = Object.fromEntries(written.map(({ decisionId, decision }) => [decisionId, decision.standsFor]));
  expect(standsFor).toEqual({ [asks[0]!]: 8, [asks[8]!]: 8, [asks[16]!]: 8 });
  call({ conversationKey: "k0" });
  expect(await signalsOf(asks[0]!)).toEqual({ ...noSignals, wentOn: true });
});

test("an escalation of the run, and a later ask, are signals of a rescue", async () => {
  const { call, signalsOf } = aTracker();
  const ask = call();
  call(escalation);
  call({ ...escalation, hardRule: true });
  expect(await signalsOf(ask)).toEqual({ ...noSignals, escalated: true });
  call();
  expect(await signalsOf(ask)).toEqual({ ...noSignals, escalated: true, wentOn: true });
});

test("a failure reported after an escalation is a failure of pro", async () => {
  const { call, signalsOf } = aTracker();
  const ask = call();
  call({ ...escalation, reportedFailure: true });
  call({ continuation: true, tier: "pro", reportedFailure: true });
  expect(await signalsOf(ask)).toEqual({ ...noSignals, escalated: true, reported: 2, failedAfter: 1 });
});

test("a run that began on pro, or reached pro without a hard rule, is not an escalation", async () => {
  const { call, signalsOf } = aTracker();
  const onPro = call({ tier: "pro" });
  call(escalation);
  expect(await signalsOf(onPro)).toBeUndefined();
  const onFlash = call({ conversationKey: "other" });
  call({ ...escalation, conversationKey: "other", hardRule: false });
  expect(await signalsOf(onFlash)).toBeUndefined();
});

test("the same ask again soon is a repeat, and its record names the previous decision; later it is a new ask", async () => {
  const { time, call, signalsOf, records } = aTracker();
  const first = call({ ask: "fix it" });
  time.advance(60_000);
  const again = call({ ask: " fix it", tier: "pro" });
  expect(await signalsOf(first)).toEqual({ ...noSignals, repeated: 1 });
  time.advance(700_000);
  call({ ask: "fix it" });
  expect(await signalsOf(again)).toEqual({ ...noSignals, wentOn: true });
  expect((await records()).find(({ decisionId }) => decisionId === again)?.decision.retryOf).toBe(first);
});

test("a new ask that reports a failure reports that of the previous ask", async () => {
  const { call, signalsOf, records } = aTracker();
  const first = call();
  const next = call({ reportedFailure: true });
  call();
  expect(await signalsOf(first)).toEqual({ ...noSignals, reported: 1 });
  expect((await records()).find(({ decisionId }) => decisionId === next)?.decision.retryOf).toBe(first);
});

test("a request long after an ask is no signal about it", async () => {
  const { time, call, signalsOf } = aTracker();
  const first = call();
  time.advance(3_600_001);
  call({ reportedFailure: true });
  expect(await signalsOf(first)).toBeUndefined();
});

test("records are written in batches in the background, again after a failure", async () => {
  const { time, call, saves, setAway, records } = aTracker();
  for (let n = 0; n < 600; n++) call({ conversationKey: `k${n % 300}` });
  expect(saves).toEqual([]);
  setAway(true);
  await time.advanceAsync(250);
  expect(saves).toEqual([]);
  setAway(false);
  await time.advanceAsync(5_000);
  expect(saves).toEqual([200, 100]);
  expect(await records()).toHaveLength(300);
});

test("a reported outcome is recorded at once, even before its decision was written; for an unknown decision it is not", async () => {
  const { call, tracker, records } = aTracker();
  const id = call();
  expect(await tracker.recordOutcome(id, "failed", 0.5)).toBe(true);
  expect(await tracker.recordOutcome("nobody", "failed", undefined)).toBe(false);
  expect((await records())[0]).toMatchObject({ outcome: "failed", outcomeScore: 0.5 });
});

test("no text of an ask is stored", async () => {
  const { call, tracker, db } = aTracker();
  for (let n = 0; n < 2; n++) call({ ask: "the secret plan of Ada", conversationKey: "ada's session" });
  await tracker.save();
  expect(JSON.stringify(db.query("SELECT * FROM routing_outcome").all())).not.toMatch(/secret|Ada|ada/);
});

test("records older than the retention are deleted", async () => {
  const { time, call, records } = aTracker();
  const old = call();
  call();
  await records();
  time.advance(31 * 86_400_000);
  const recent = call();
  call();
  expect((await records()).map(({ decisionId }) => decisionId)).not.toContain(old);
  expect((await records()).map(({ decisionId }) => decisionId)).toEqual([recent]);
});

test("after a close during an outage of its store, nothing is retried", async () => {
  const { time, call, tracker, saves, setAway } = aTracker();
  for (let n = 0; n < 2; n++) call();
  setAway(true);
  await tracker.close();
  setAway(false);
  await time.advanceAsync(5_000);
  expect(saves).toEqual([]);
});
