import { expect, test } from "bun:test";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import { type LiveSources, liveDecisions } from "./decisions.ts";

/** A feed that resumes after the records before `missed`; what it sends, and a way to give it records as they are made. */
async function resume(missed: readonly DecisionRecord[], meanwhile: readonly DecisionRecord[]) {
  const sent: string[] = [];
  let deliver: Parameters<LiveSources["records"]["subscribe"]>[1] = () => {};
  const live = liveDecisions({
    clock: { now: () => 0 },
    records: {
      query: () => Promise.resolve({ records: missed, more: false }),
      subscribe(_, onRecords) {
        deliver = onRecords;
        return () => {};
      },
    },
  });
  const call = { query: { limit: 100, range: "24h" }, lastEventId: "1" } as unknown as Parameters<typeof live>[0];
  live(call, {
    send(event) {
      sent.push(event.kind === "decision" ? event.row.decision_id : event.kind);
      return true;
    },
    end: () => {},
  });
  deliver(meanwhile);
  await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  return { sent, deliver };
}

test("a resumed feed sends each record once, whether it was missed, made meanwhile, or polled later", async () => {
  const [first, second, third, fourth] = [1, 2, 3, 4].map((index) => aDecisionRecord(index)) as [
    DecisionRecord,
    DecisionRecord,
    DecisionRecord,
    DecisionRecord,
  ];
  const { sent, deliver } = await resume([first, second], [second, third]);
  const ids = [first, second, third].map(({ decision_id }) => decision_id);
  expect(sent).toEqual(["hello", ...ids]);
  // With several nodes the store is polled, and what was written before the feed resumed is read again.
  deliver([first, second, fourth]);
  expect(sent).toEqual(["hello", ...ids, fourth.decision_id]);
});
