import { describe, expect, test } from "bun:test";
import { inMemoryTaskMemory, newTask, taskKeyOf } from "./task-memory.ts";

const worker = { key: "vendor_v4_flash", role: "worker" } as const;

describe("the memory of tasks", () => {
  test("forgets a task without requests after a time", () => {
    const memory = inMemoryTaskMemory({ remembered: 10, remembered_ms: 1_000 });
    memory.remember("t", newTask, 0);
    memory.remember("t", newTask, 900);
    expect(memory.recall("t", 1_900)).toBeDefined();
    expect(memory.recall("t", 1_901)).toBeUndefined();
  });

  test("never keeps more tasks than its limit, and evicts the least recently used", () => {
    const memory = inMemoryTaskMemory({ remembered: 2, remembered_ms: 1_000 });
    memory.remember("a", newTask, 0);
    memory.remember("b", newTask, 1);
    memory.served("a", worker, 2);
    memory.remember("c", newTask, 3);
    expect(["a", "b", "c"].filter((key) => memory.recall(key, 4) !== undefined)).toEqual(["a", "c"]);
  });

  test("the same task id in two sessions is two tasks, and a request without one has no task", () => {
    expect(taskKeyOf({ sessionId: "a", taskId: "t" })).not.toBe(taskKeyOf({ sessionId: "b", taskId: "t" }));
    expect(taskKeyOf({ taskId: "t" })).toBeDefined();
    expect(taskKeyOf({ sessionId: "a" })).toBeUndefined();
  });
});
