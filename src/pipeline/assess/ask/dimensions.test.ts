import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { pointsOf } from "#pipeline/decide/rules/score.ts";

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
  "Beim gleichzeitigen Buchen wird derselbe Platz zweimal vergeben, bitte beheben",
  "Deux tâches traitent parfois le même message, trouve la cause et corrige",
  "两个进程同时扣库存会超卖，修掉这个问题",
  "keep both stores consistent if the process dies between two writes",
  "make the import resumable without losing or repeating rows",
  "migrate to the new schema while writes go on",
  "find out why p99 doubles every hour",
  "requests hang forever once in ten thousand",
  "the parser is quadratic on some inputs, fix it",
  "make undo work across collaborating editors",
  "解决分布式锁在超时后被两个节点同时持有的问题",
])("a short ask about an intermittent fault has more points than a long ordinary one: %s", (ask) => {
  const ordinary =
    "Add a page that lists the ten newest articles with their titles, their authors and their dates, and link it from the menu";
  expect(points(ask)).toBeGreaterThan(points(ordinary) + 10);
});

test("something that happens sometimes, but not in software, is not an intermittent fault", () => {
  expect(points("My grandmother sometimes forgets her keys, write a card for her")).toBeLessThan(30);
  expect(points("Sometimes I have the same dream twice, what does it mean?")).toBeLessThan(30);
  expect(points("Markiere beide Zeilen gleichzeitig")).toBeLessThan(30);
});

describe("a fault told in a few words", () => {
  test.each([
    "Messages arrive out of sequence after the consumer group rebalances.",
    "Half of the fleet sees the new schema, the other half still writes the old one.",
    "The gradient blows up after a few hundred steps.",
    "Fix that the follower falls further behind the primary the longer it runs.",
  ])("is hard where programs share, keep or compute something: %s", (ask) => {
    expect(points(ask)).toBeGreaterThan(36);
  });

  test.each([
    "Our newsletter shows the wrong year.",
    "The menu entry for settings should come last.",
    "Add a counter for skipped events to the summary.",
    "Show a spinner while the stream is stuck.",
    "Explain what happens when a thread hangs during a restart.",
    "Print the offset of the truncated line.",
  ])("and not where something is to be added, shown or explained: %s", (ask) => {
    expect(points(ask)).toBeLessThan(30);
  });
});

test("code in a named section is part of the ask", () => {
  const question = "What does this print?\n[PYTHON]\n";
  const long = `${question}${"def f(a, b):\n    return [x + b for x in a if x > b]\n".repeat(4)}[/PYTHON]`;
  expect(points(long)).toBeGreaterThan(points(`${question}print(1)\n[/PYTHON]`));
});

describe("a sum in words", () => {
  const sum =
    "Ann has 12 pens. She buys twice as many of them, then gives 5 of these to her brother and loses it all but 3. How many are left?";

  test("is work on numbers, whatever words of programs stand in it", () => {
    expect(assessed({ ask: sum }).task.kind).toBe("OTHER");
    expect(assessed({ ask: "Why does the job run twice?" }).task.kind).toBe("DEBUG");
    expect(
      assessed({ ask: "Solve $\\frac{x^2}{3} + \\sqrt{x} = \\frac{1}{2}$ for the function $f(x) = x^2 + 1$." }).task
        .kind,
    ).toBe("OTHER");
  });

  test("is not harder for the words by which its story points back", () => {
    const plain = sum.replace("them", "mugs").replace("these", "cups").replace("loses it", "loses hats");
    expect(Math.abs(points(sum) - points(plain))).toBeLessThan(1);
  });
});
