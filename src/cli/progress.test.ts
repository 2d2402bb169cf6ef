import { describe, expect, test } from "bun:test";
import { progressBar } from "./progress.ts";

const terminal = (columns = 80) => {
  const written: string[] = [];
  return { isTTY: true, columns, write: (text: string) => void written.push(text), written };
};

describe("the progress bar", () => {
  test("shows the completed share, and removes itself", () => {
    const output = terminal();
    let time = 0;
    const bar = progressBar("Reading hosts", 4, output, () => time);
    bar.at(1);
    time = 100;
    bar.at(4);
    bar.end();
    expect(output.written[0]).toContain("Reading hosts ██████░░░░░░░░░░░░░░░░░░ 25 %");
    expect(output.written[1]).toContain("100 %");
    expect(output.written.at(-1)).toBe("\r\u001b[2K");
  });

  test("is not redrawn for each of a million steps, but at the last one", () => {
    const output = terminal();
    const bar = progressBar("x", 1_000_000, output, () => 0);
    for (let done = 1; done <= 1_000_000; done++) bar.at(done);
    expect(output.written).toHaveLength(2);
  });

  test("never wraps to a second line", () => {
    const output = terminal(20);
    progressBar("A label that is longer than the terminal", 2, output, () => 0).at(1);
    expect((output.written[0] ?? "").replace("\r\u001b[2K", "").length).toBe(19);
  });

  test("is as wide as usual on a terminal that does not say how wide it is", () => {
    const output = terminal(0);
    progressBar("replaying", 2, output, () => 0).at(1);
    expect(output.written[0]).toContain("replaying ████████████░░░░░░░░░░░░ 50 %");
  });

  test("writes nothing if there is no terminal", () => {
    const output = { ...terminal(), isTTY: false };
    const bar = progressBar("x", 2, output);
    bar.at(1);
    bar.end();
    expect(output.written).toEqual([]);
  });
});
