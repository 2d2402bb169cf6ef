import { expect, test } from "bun:test";
import { observationOf } from "./observation.ts";

const bash = (command: string) => ({ name: "bash", args: JSON.stringify({ command }) });
const failing = "TypeError: x is undefined\nexit code: 1";

test("a result that was seen before is not parsed again", () => {
  const first = observationOf({ call: bash("npm test"), text: failing });
  expect(first.observation).toMatchObject({ kind: "failed", errorType: "TypeError", runs: true });
  const again = observationOf({ call: bash("npm test"), text: `${failing}` });
  expect(again.observation).toBe(first.observation);
  expect(again).toEqual(first);
});

test("the same text is another result for another call", () => {
  const text = "error: 3 problems";
  const run = observationOf({ call: bash("npm run lint"), text });
  const read = observationOf({ call: { name: "read_file", args: '{"path":"a.log"}' }, text });
  const unknown = observationOf({ call: undefined, text });
  expect(new Set([run.result, read.result, unknown.result]).size).toBe(3);
  expect(run.observation.kind).toBe("failed");
  expect(read.observation.runs).toBe(false);
});

test("no text of a caller is kept, only the type of an error", () => {
  const { observation } = observationOf({
    call: bash("deploy --customer acme"),
    text: "ValueError: acme owes 17\nexit code: 2",
  });
  expect(JSON.stringify(observation)).not.toContain("acme");
});

test("results that are no longer sent are forgotten", () => {
  const first = observationOf({ call: bash("npm test"), text: "first" }).observation;
  for (let index = 0; index < 40_000; index++) observationOf({ call: undefined, text: `result ${index}` });
  const again = observationOf({ call: bash("npm test"), text: "first" }).observation;
  expect(again).not.toBe(first);
  expect(again).toEqual(first);
});
