import { describe, expect, test } from "bun:test";
import { assessed, newMemory, step } from "#pipeline/assess/fixtures.ts";
import { taskKeyOf } from "./task-memory.ts";

const ask = { role: "user", content: "Make the retry test pass." };
const routing = { sessionId: "s", taskId: "t" };
const key = taskKeyOf(routing) ?? "";
const flash = { key: "vendor_v4_flash", role: "worker" } as const;
const pro = { key: "vendor_v4_pro", role: "senior" } as const;

describe("attempts", () => {
  test("turns of an agent's run are not attempts, however many, nor are failing commands within it", () => {
    const memory = newMemory();
    const messages = [ask];
    for (let turn = 0; turn < 15; turn++) {
      messages.push(
        ...(step("bash", { command: `make ${turn}` }, `exit code 1\nError: reason ${"x".repeat(turn)}`) as never[]),
      );
      memory.served(key, flash, turn);
      expect(assessed({ messages, routing, now: turn }, memory).runtime).toMatchObject({
        attempts: 0,
        flash_attempts: 0,
      });
    }
  });

  test("a reported failure is one, attributed to the tier that served the task", () => {
    const memory = newMemory();
    const failed = { ...routing, failureClass: "LOCAL" } as const;
    expect(assessed({ routing }, memory).runtime).toMatchObject({ attempts: 0, flash_attempts: 0 });
    memory.served(key, flash, 0);
    expect(assessed({ routing: failed }, memory).runtime).toMatchObject({
      attempts: 1,
      flash_attempts: 1,
      last_model: flash.key,
    });
    memory.served(key, pro, 0);
    expect(assessed({ routing: failed }, memory).runtime).toMatchObject({
      attempts: 2,
      flash_attempts: 1,
      last_model: pro.key,
    });
  });

  test("a failure reported once is not counted again by later turns with the same header", () => {
    const memory = newMemory();
    const failed = { ...routing, failureClass: "LOCAL" } as const;
    const messages: (typeof ask)[] = [ask];
    assessed({ messages, routing: failed }, memory);
    for (let turn = 0; turn < 5; turn++) {
      messages.push(...(step("bash", {}, "ok") as never[]));
      expect(assessed({ messages, routing: failed }, memory).runtime.attempts).toBe(1);
    }
    expect(assessed({ messages, routing: { ...failed, sameErrorCount: 2 } }, memory).runtime.attempts).toBe(2);
  });

  test("two failed repairs of the same error in a run are one", () => {
    const memory = newMemory();
    const error = "TypeError: x is not a function";
    const messages = [ask, ...[1, 2, 3].flatMap(() => step("bash", {}, error))];
    expect(assessed({ messages, routing }, memory).runtime).toMatchObject({ attempts: 1, same_error_count: 2 });
    expect(
      assessed({ messages: [...messages, ...step("read_file", {}, "text")], routing }, memory).runtime.attempts,
    ).toBe(1);
  });
});

describe("reported values", () => {
  test("stay with the task until other values are reported", () => {
    const memory = newMemory();
    assessed({ routing: { ...routing, failureClass: "STRUCTURAL", sameErrorCount: 2 } }, memory);
    expect(assessed({ routing }, memory).runtime).toMatchObject({ failure_class: "STRUCTURAL", same_error_count: 2 });
    assessed({ routing: { ...routing, failureClass: "NONE", sameErrorCount: 0 } }, memory);
    expect(assessed({ routing }, memory).runtime).toMatchObject({ failure_class: "NONE", same_error_count: 0 });
  });
});

test("the stored name of a failure does not identify the ask: many asks share it", () => {
  const names = Array.from({ length: 600 }, (_, n) => {
    const memory = newMemory();
    const messages = [{ role: "user", content: `Rotate the key of account ${n}.` }];
    assessed({ messages, routing: { ...routing, failureClass: "LOCAL" } }, memory);
    return memory.recall(key, 0)?.countedFailure;
  });
  expect(names[0]).toStartWith("LOCAL ");
  // There are 256 names at most, but two consecutive asks hardly ever have the same.
  expect(new Set(names).size).toBeLessThanOrEqual(256);
  expect(names.filter((name, at) => name === names[at + 1]).length).toBeLessThan(20);
});
