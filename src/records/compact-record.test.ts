import { expect, test } from "bun:test";
import { decide } from "#pipeline/decide/decide.ts";
import { aRuntime, aSnapshot, aTask } from "#pipeline/decide/fixtures.ts";
import { buildRecord } from "./build-record.ts";
import { compactEntry, readText } from "./compact-record.ts";
import { aRequestRecord } from "./fixtures.ts";
import type { RequestRecord, RoutedInputs } from "./record.ts";

const context = { policyHash: "h", session: undefined, salt: 1 };

/** Every count has a value of its own, so that none can take another's place. */
const features = {
  characters: 1,
  topics: { words: 2, distinctWords: 3, counts: new Map() },
  codeLines: 4,
  traceLines: 5,
  listItems: 6,
  options: 7,
  numbers: 8,
  mathSigns: 9,
  commas: 10,
  identifiers: 11,
  denseCharacters: 12,
  verbLast: true,
};

function aRequest(runtimeGiven: Parameters<typeof aRuntime>[0] = {}): RequestRecord {
  const metadata = { routing: "pro", scout: true, repo_id: "a name that the caller chose" };
  const { instruction: _, ...task } = aTask({ metadata });
  const runtime = aRuntime(runtimeGiven);
  const snapshot = aSnapshot({});
  const decision = decide({ ...task, instruction: "" }, runtime, snapshot);
  const request = aRequestRecord({
    task,
    runtime,
    snapshot,
    decision,
    features: features as unknown as RoutedInputs["features"],
  });
  return {
    ...request,
    routed: {
      ...request.routed,
      decision: { ...decision, action: "DENY", model: null },
      housekeeping: "title",
      namesTask: true,
    },
  };
}

test("the record that is read back is the one of the request, value by value", () => {
  const run = {
    attempts: 1,
    flash_attempts: 2,
    same_error_count: 3,
    tests_failed: 4,
    files_touched: 5,
    tool_depth: 6,
    last_model: "m",
  };
  for (const request of [aRequest(), aRequest(run)]) {
    const whole = JSON.parse(JSON.stringify(buildRecord(request, context)));
    expect(readText(compactEntry(request, context).text)).toEqual(whole);
  }
  const { routed: _, ...refused } = aRequest();
  const whole = JSON.parse(JSON.stringify(buildRecord(refused, context)));
  expect(readText(compactEntry(refused, context).text)).toEqual(whole);
});

test("what is written is short, and has no name that a caller chose for its repository", () => {
  const { text } = compactEntry(aRequest(), context);
  expect(text).not.toContain("a name that the caller chose");
  expect(text.length).toBeLessThan(1_400);
});
