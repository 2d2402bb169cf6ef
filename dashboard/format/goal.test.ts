import { expect, test } from "bun:test";
import { goalIdOf } from "#domain/goal.ts";
import { goalName } from "./goal.ts";

test("a goal is shown by the name that its caller gave", () => {
  expect(goalName(goalIdOf({ sessionId: "s1", goalId: "refactor" }))).toBe("s1/refactor");
  expect(goalName(goalIdOf({ goalId: "team/100%/x" }))).toBe("team/100%/x");
  expect(goalName(goalIdOf({ sessionId: "a/b", goalId: "c" }))).toBe("a/b/c");
  expect(goalName(goalIdOf({}))).toBe("adhoc");
});
