import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "#domain/chat.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";

/**
 * Messages in the forms of some hundred agents, libraries and chat programs, and outputs of programs without an exit status. Rules are
 * general, so a few of these forms may be misread; a change that lowers a share has made a rule worse.
 */
interface Row {
  readonly from: string;
  /** `ask`: new work; `turn`: a further turn of earlier work, compaction included. */
  readonly is: "ask" | "turn" | "housekeeping";
  readonly kind?: string;
  /** The user's words, without their envelope. */
  readonly ask?: string;
  /** Whether the newest result of a tool is a failure. */
  readonly failed?: boolean;
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

function isRight({ is, kind, ask, failed, messages, tools }: Row): boolean {
  const { task, runtime, housekeeping, continuation } = assessed({ messages, ...(tools && { tools }) });
  const found = housekeeping !== undefined ? "housekeeping" : continuation ? "turn" : "ask";
  if (found !== is || (kind !== undefined && housekeeping !== kind)) return false;
  if (failed !== undefined && runtime.tool_depth > 0 !== failed) return false;
  return ask === undefined || (task.instruction.includes(ask) && task.instruction.length < ask.length * 1.25 + 20);
}

describe("messages of agents and chat programs", () => {
  const rows = rowsOf<Row>("agent-messages.jsonl");

  test.each(["ask", "turn", "housekeeping"] as const)("95 % of those that are %s are read so", (is) => {
    expect(
      misread(
        rows.filter((row) => row.is === is),
        isRight,
        0.05,
      ),
    ).toEqual([]);
  });
});

test("nine of ten outputs of programs without an exit status are read right", () => {
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
  expect(misread(rows, (row) => fails(row) === row.failed, 0.1)).toEqual([]);
});
