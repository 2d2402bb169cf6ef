import { expect, test } from "bun:test";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { pointsOf } from "#pipeline/decide/rules/score.ts";
import { Policy } from "#policy/schema.ts";

const policy = Policy.parse({});
const points = (ask: string, tools?: readonly string[]) => {
  const { task, runtime } = assessed(tools === undefined ? { ask } : { ask, tools });
  return pointsOf(task, runtime, policy, []);
};

test.each([
  "Two workers sometimes take the same job",
  "Our job queue occasionally hands the same item to two consumers",
  "Messages arrive out of order under load",
  "Orders are lost when two nodes restart at the same time",
  "The cache returns stale values once in a while",
])("a short ask about an intermittent fault has more points than a long ordinary one: %s", (ask) => {
  const ordinary =
    "Add a page that lists the ten newest articles with their titles, their authors and their dates, and link it from the menu";
  expect(points(ask)).toBeGreaterThan(points(ordinary) + 10);
});

test("something that happens sometimes, but not in software, is not an intermittent fault", () => {
  expect(points("My grandmother sometimes forgets her keys, write a card for her")).toBeLessThan(30);
});

test("code in a named section is part of the ask", () => {
  const question = "What does this print?\n[PYTHON]\n";
  const long = `${question}${"def f(a, b):\n    return [x + b for x in a if x > b]\n".repeat(4)}[/PYTHON]`;
  expect(points(long)).toBeGreaterThan(points(`${question}print(1)\n[/PYTHON]`));
});
