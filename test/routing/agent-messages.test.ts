import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "#domain/chat.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aSnapshot } from "#pipeline/decide/fixtures.ts";

/**
 * Messages in the forms of some hundred agents, libraries and chat programs, and outputs of programs without an exit status. Rules know
 * structure and no program, so some of these forms are misread: what counts is where a request goes.
 */
interface Row {
  readonly from: string;
  /** `ask`: new work; `turn`: a further turn of earlier work, compaction included. */
  readonly is: "ask" | "turn" | "housekeeping";
  /** The user's words, without their envelope. */
  readonly ask?: string;
  readonly messages: readonly JsonObject[];
  readonly tools?: readonly string[];
}

interface Output {
  readonly from: string;
  readonly command?: string;
  readonly name?: string;
  readonly output: string;
  readonly failed: boolean;
}

const rowsOf = <T>(file: string) =>
  readFileSync(join(import.meta.dir, "fixtures", file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T); // rows of this test

/** Names of the rows that are misread, if they are more than a share of all. */
function misread<T extends { readonly from: string }>(rows: readonly T[], isRight: (row: T) => boolean, share: number) {
  const wrong = rows.filter((row) => !isRight(row)).map(({ from }) => from);
  return wrong.length <= share * rows.length ? [] : wrong;
}

/** The tier to which the messages go; a row's ask alone says which one is right. */
function tierOf({ messages, tools }: Pick<Row, "messages" | "tools">): "flash" | "pro" {
  const { task, runtime, scale, prose } = assessed({ messages, ...(tools && { tools }) });
  return decide(task, runtime, aSnapshot({ scale, prose })).model === "vendor_v4_pro" ? "pro" : "flash";
}
const tierAlone = (ask: string) => tierOf({ messages: [{ role: "user", content: ask }] });

describe("messages of agents and chat programs, which no rule knows by name", () => {
  const rows = rowsOf<Row>("agent-messages.jsonl");
  const asks = rows.filter((row): row is Row & { ask: string } => row.is === "ask" && row.ask !== undefined);

  test("an ask of plain work hardly ever goes to pro for what a program has put around it", () => {
    const plain = asks.filter(({ ask }) => tierAlone(ask) === "flash");
    expect(plain.length).toBeGreaterThan(50);
    expect(misread(plain, (row) => tierOf(row) === "flash", 0.05)).toEqual([]);
  });

  test("two of three high-risk asks are found behind what a program has put around them", () => {
    const highRisk = asks.filter(({ ask }) => tierAlone(ask) === "pro");
    expect(highRisk.length).toBeGreaterThan(15);
    expect(misread(highRisk, (row) => tierOf(row) === "pro", 0.33)).toEqual([]);
  });

  test("four of five calls that programs make for themselves stay on flash, though they quote a high-risk ask", () => {
    const own = rows.filter(({ is }) => is === "housekeeping");
    expect(misread(own, (row) => tierOf(row) === "flash", 0.2)).toEqual([]);
  });
});

test("three of four outputs of programs without an exit status are read right", () => {
  const fails = ({ command, name = "bash", output }: Output) => {
    const call = { id: "c", type: "function", function: { name, arguments: JSON.stringify({ command }) } };
    const messages = [
      { role: "user", content: "Add a --json flag" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: output },
    ];
    return assessed({ messages }).runtime.tool_depth > 0;
  };
  const rows = rowsOf<Output>("program-outputs.jsonl");
  expect(misread(rows, (row) => fails(row) === row.failed, 0.25)).toEqual([]);
});
