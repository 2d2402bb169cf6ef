import { expect, test } from "bun:test";
import { buildRecord } from "#records/build-record.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import type { RequestRecord } from "#records/record.ts";
import { blockOf, openBlock } from "#records/store/blocks/record-block.ts";
import { headOf, type RecordEntry } from "#records/store/record-head.ts";
import { valueAt } from "./columns.ts";
import { compactRecord, nameConversation, readContent } from "./compact-record.ts";
import { aRequest, variousRequests } from "./fixtures.ts";

const context = { policyHash: "h", session: undefined, salt: 1 };

function entriesOf(requests: readonly RequestRecord[]): RecordEntry[] {
  const entries = requests.map((request) => compactRecord(request, context));
  for (const entry of entries) nameConversation(entry, context.salt);
  return entries;
}

/** The records of entries that were written together. */
async function readBack(entries: readonly RecordEntry[]) {
  const block = openBlock(blockOf(entries).data);
  return entries.map((_, line) => readContent(valueAt(block?.contents ?? {}, line)));
}

const expectedOf = (request: RequestRecord) => JSON.parse(JSON.stringify(buildRecord(request, context)));

test("records are read back as they were written, value by value, alone and together", async () => {
  const requests = variousRequests();
  const expected = requests.map(expectedOf);
  expect(await readBack(entriesOf(requests))).toEqual(expected);
  for (const [at, request] of requests.entries()) expect(await readBack(entriesOf([request]))).toEqual([expected[at]]);
});

test("records of requests and of rejections share a block, in their order", async () => {
  const [first, second, ...more] = entriesOf(variousRequests());
  if (first === undefined || second === undefined) throw new Error("there are several");
  const rejection = aDecisionRecord(1);
  const entry = { head: headOf(rejection), content: rejection };
  const [a, b] = variousRequests().map(expectedOf);
  expect((await readBack([first, entry, second, ...more])).slice(0, 3)).toEqual([a, rejection, b]);
  expect(await readBack([entry])).toEqual([rejection]);
});

test("blocks of earlier releases are read, which are JSON alone", async () => {
  const block = openBlock(await Bun.file(`${import.meta.dir}/earlier-block.txt`).text());
  const read = variousRequests().map((_, line) => readContent(valueAt(block?.contents ?? {}, line)));
  expect(read).toEqual(variousRequests().map(expectedOf));
});

test("the stored form is short, shorter together, and without names that a caller chose for its repository", async () => {
  const stored = async (count: number) => {
    const { data } = blockOf(entriesOf(Array.from({ length: count }, () => aRequest())));
    return Bun.zstdDecompressSync(Buffer.from(data, "base64")).toString("latin1");
  };
  const one = await stored(1);
  expect(one).toContain('"OTHER"');
  expect(one).not.toContain("a name that the caller chose");
  expect(one.length).toBeLessThan(3_000);
  // A byte of each is its number, which all of these share here.
  expect((await stored(100)).length).toBeLessThan(one.length + 200);
});
