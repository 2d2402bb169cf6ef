import { expect, test } from "bun:test";
import { valueAt } from "#records/compact/columns.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import { recordOf } from "#records/store/found-record.ts";
import { headOf } from "#records/store/record-head.ts";
import { contentsOf, openedFor } from "#records/store/sql-connection.ts";
import { blockOf, hasIdHash, headFields, idHash, openBlock, termOf } from "./record-block.ts";

const entryOf = (record: ReturnType<typeof aDecisionRecord>) => ({ head: headOf(record), content: record });

test("a record whose block this release cannot read is skipped", async () => {
  const ofAnotherRelease = Bun.zstdCompressSync('{"a":1}\n{"b":2}').toString("base64");
  const { data } = blockOf([entryOf(aDecisionRecord(1))]);
  const read = (block: string) =>
    contentsOf(openedFor([{ seq: 7, block: 1, line: 0 }], [{ id: 1, data: block }])).map(recordOf);
  expect(read(ofAnotherRelease)).toEqual([undefined]);
  expect(read(Buffer.from("no block").toString("base64"))).toEqual([undefined]);
  expect(read(data)[0]?.decision_id).toBe("d1");
});

test("the terms of a block have each value of each field once, each hard rule by name, and the class of a status", async () => {
  const { terms } = blockOf([
    entryOf(aDecisionRecord(1, { rule: "tool_depth, same_error_count", status: 403, goal: 'a\n"b' })),
    entryOf(aDecisionRecord(2, { rule: "tool_depth", status: 403, goal: null })),
  ]);
  const lines = terms.split("\n").filter((line) => line !== "");
  expect(new Set(lines).size).toBe(lines.length);
  for (const [field, value] of [
    ["rule", "tool_depth"],
    ["rule", "same_error_count"],
    ["status", "403"],
    ["status", "4xx"],
    ["goal", 'a\n"b'],
    ["goal", ""],
    ["tier", "flash"],
  ] as const) {
    expect(terms).toContain(termOf(field, value));
  }
  expect(terms).not.toContain(termOf("status", "200"));
});

test.each(headFields)("records that differ in their %s alone have both values in the block", (field) => {
  const entry = entryOf(aDecisionRecord(1));
  const other = field === "status" ? 599 : "another";
  const { data, terms } = blockOf([entry, { ...entry, head: { ...entry.head, [field]: other } }]);
  expect(terms).toContain(termOf(field, String(entry.head[field] ?? "")));
  expect(terms).toContain(termOf(field, String(other)));
  const column = openBlock(Buffer.from(data, "base64"))?.heads?.[field] ?? {};
  expect([0, 1].map((line) => valueAt(column, line))).toEqual([entry.head[field], other]);
});

test("an id is compared with the id of the same line only", async () => {
  const { ids } = blockOf([entryOf(aDecisionRecord(1)), entryOf(aDecisionRecord(2))]);
  const hex = Buffer.from(ids, "base64").toString("hex");
  const found = (id: string) =>
    [0, 1].flatMap((line) =>
      (["decision", "request"] as const)
        .filter((kind) => hasIdHash(hex, line, kind, idHash(id)))
        .map((kind) => [line, kind]),
    );
  expect(found("d2")).toEqual([[1, "decision"]]);
  expect(found("r1")).toEqual([[0, "request"]]);
  expect(found("r3")).toEqual([]);
});
