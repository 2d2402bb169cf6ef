import { expect, test } from "bun:test";
import { aDecisionRecord } from "#records/fixtures.ts";
import { headOf } from "./record-head.ts";
import { blockOf, recordOf } from "./record-rows.ts";
import { withContents } from "./sql-connection.ts";

const rowOf = (line: number) => ({ seq: 7, cost_nano_usd: 1, cost_state: "known", block: 1, line });

test("a record whose block this release cannot read is left out", async () => {
  const ofAnotherRelease = Bun.zstdCompressSync('{"a":1}\n{"b":2}').toString("base64");
  const record = aDecisionRecord(1);
  const block = await blockOf([{ head: headOf(record), content: record }]);
  const read = (data: string, line: number) => withContents([rowOf(line)], [{ id: 1, data }]).map(recordOf);
  expect(read(ofAnotherRelease, 0)).toEqual([undefined]);
  expect(read(Buffer.from("no block").toString("base64"), 0)).toEqual([undefined]);
  expect(read(block, 0)[0]?.decision_id).toBe("d1");
});
