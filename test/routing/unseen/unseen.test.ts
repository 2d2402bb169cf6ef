import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { asks } from "./asks.ts";
import { asks as furtherAsks } from "./asks-2.ts";
import { guardedAsk, type Request, used, user } from "./build.ts";
import { housekeeping } from "./housekeeping.ts";
import { housekeeping as furtherHousekeeping } from "./housekeeping-2.ts";
import { outputs } from "./outputs.ts";
import { outputs as furtherOutputs } from "./outputs-2.ts";
import { requests } from "./requests.ts";
import { requests as furtherRequests } from "./requests-2.ts";
import * as third from "./third-set.ts";

/**
 * Requests, asks and outputs in forms that no rule was written for when they were written and labelled; docs/routing.md says how many
 * were right at first sight. Those that still are not are named there and left out here.
 */
const guardedKinds: readonly string[] = ["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"];
const isGuarded = ({ task }: Assessment) =>
  guardedKinds.includes(task.kind) && (task.risk_level === "HIGH" || task.risk_level === "CRITICAL");

function readingOf(found: Assessment): "ask" | "turn" | "housekeeping" {
  if (found.housekeeping !== undefined) return "housekeeping";
  return found.continuation ? "turn" : "ask";
}

const byName = (each: Request) => [each.from, each] as const;

describe("requests of agents and libraries", () => {
  test.each([...requests, ...furtherRequests, ...third.requests].map(byName))(
    "%s",
    (_, { messages, tools, ask, ...right }) => {
      const found = assessed({ messages, ...(tools && { tools }) });
      expect(readingOf(found)).toBe(right.is);
      if (right.guarded !== undefined) expect(isGuarded(found)).toBe(right.guarded);
      // A call that failed counts for two.
      if (right.failed !== undefined) expect(found.runtime.tool_depth).toBe(right.failed ? 2 : 0);
      if (ask === undefined || right.is === "housekeeping") return;
      expect(found.task.instruction).toContain(ask);
      expect(found.task.instruction.length).toBeLessThan(ask.length * 1.25 + 20);
    },
  );
});

describe("calls that programs make for themselves", () => {
  test.each([...housekeeping, ...furtherHousekeeping, ...third.housekeeping].map(byName))(
    "%s",
    (_, { messages, tools, is }) => {
      expect(readingOf(assessed({ messages, ...(tools && { tools }) }))).toBe(is);
    },
  );
});

describe("short asks", () => {
  const all = [...Object.entries(asks), ...Object.entries(furtherAsks), ...Object.entries(third.asks)];
  const labelled = all.flatMap(([language, { guarded, ordinary }]) => [
    ...guarded.map((ask) => [language, ask, true] as const),
    ...ordinary.map((ask) => [language, ask, false] as const),
  ]);
  test.each(labelled)("%s: %s: guarded %p", (_, ask, guarded) => {
    expect(isGuarded(assessed({ ask }))).toBe(guarded);
  });
});

describe("outputs of programs", () => {
  test.each([...outputs, ...furtherOutputs, ...third.outputs])("%s", (_, tool, output, failed) => {
    const [name, args]: [string, JsonObject] =
      "command" in tool ? ["bash", { command: tool.command }] : [tool.name, {}];
    const messages = [user("Add a --json flag"), ...used(name, args, output)];
    expect(assessed({ messages }).runtime.tool_depth).toBe(failed ? 2 : 0);
  });
});

describe("what a user writes in such forms stays an ask", () => {
  test.each([
    "The previous answer was wrong, use the second table instead.",
    "Type error in cart.ts: x is undefined. Fix the error.",
    "Validation error:\nthe e-mail field accepts blanks. Where is that checked?",
    "Continue with the login page: add a rate limit.",
    '{"type": "error", "message": "x is not a function"}\nWhat does that mean?',
    "Problem:\nthe list is empty\nExpected:\ntwo rows",
    "Your output is fine, but rename the flag to --raw.",
    "Write a title for each of these pages and explain your choice.",
    "Command line parsing returned the wrong flag, please mend it",
    "Here is the output of my script: 3. Why not 4?",
  ])("%s", (ask) => {
    const messages = [user(guardedAsk), { role: "assistant", content: "Done." }, user(ask)];
    const found = assessed({ messages });
    expect({ is: readingOf(found), ask: found.task.instruction }).toEqual({ is: "ask", ask });
  });
});
