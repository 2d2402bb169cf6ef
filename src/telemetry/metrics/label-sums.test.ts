import { expect, test } from "bun:test";
import { LabelSums } from "./label-sums.ts";

function listed(sums: LabelSums): (readonly [string, number])[] {
  const found: [string, number][] = [];
  sums.each((sum, labels) => found.push([labels.join(" "), sum]));
  return found.sort(([a], [b]) => a.localeCompare(b));
}

test("amounts are summed by all of their labels, in their order", () => {
  const sums = new LabelSums();
  sums.add(1, "flash", "200");
  sums.add(2, "flash", "200");
  sums.add(4, "200", "flash");
  sums.add(8, "flash", "503");
  sums.add(16);
  expect(listed(sums)).toEqual([
    ["", 16],
    ["200 flash", 4],
    ["flash 200", 3],
    ["flash 503", 8],
  ]);
});

test("a sum of zero is listed, and sums go on after a reading", () => {
  const sums = new LabelSums();
  sums.add(0, "cached_input");
  expect(listed(sums)).toEqual([["cached_input", 0]]);
  sums.add(3, "cached_input");
  sums.add(4, "cached_input");
  expect(listed(sums)).toEqual([["cached_input", 7]]);
  expect(listed(sums)).toEqual([["cached_input", 7]]);
});
