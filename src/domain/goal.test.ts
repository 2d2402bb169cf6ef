import { describe, expect, test } from "bun:test";
import { goalIdOf } from "./goal.ts";

describe("the goal that a request belongs to", () => {
  test("is session/goal, only the goal, or adhoc", () => {
    expect(goalIdOf({ sessionId: "s", goalId: "g" })).toBe("s/g");
    expect(goalIdOf({ goalId: "g" })).toBe("g");
    expect(goalIdOf({ sessionId: "s" })).toBe("adhoc");
    expect(goalIdOf({})).toBe("adhoc");
  });

  test("has different names for a/b and c, a and b/c, and a/b/c without a session", () => {
    const names = [
      goalIdOf({ sessionId: "a/b", goalId: "c" }),
      goalIdOf({ sessionId: "a", goalId: "b/c" }),
      goalIdOf({ goalId: "a/b/c" }),
    ];
    expect(names).toEqual(["a%2Fb//c", "a//b%2Fc", "//a%2Fb%2Fc"]);
    expect(goalIdOf({ goalId: "a/b" })).not.toBe(goalIdOf({ sessionId: "a", goalId: "b" }));
  });
});
