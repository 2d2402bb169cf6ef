import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import { RoutingTask, RuntimeState } from "#domain/routing.ts";
import { scoreOf, zoneOf } from "#pipeline/decide/rules/score.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { assessed, policy, type Sent, step } from "./fixtures.ts";

const zone = (sent: Sent) => {
  const { task, runtime, scale } = assessed(sent);
  return zoneOf(scoreOf(task, runtime, policy, [], scale), policy);
};

describe("stated fields become fields of the task", () => {
  test("X-Pro forces pro for any alias, but does not hide a free request on sensitive data", () => {
    expect(assessed({ routing: { forcePro: true } }).task.explicit_route).toBe("PRO");
    expect(assessed({ alias: "smart-router-flash", routing: { forcePro: true } }).task.explicit_route).toBe("PRO");
    const free = { alias: "smart-router-free" } as const;
    expect(assessed({ ...free, routing: { forcePro: true, sensitive: false } }).task.explicit_route).toBe("PRO");
    expect(assessed({ ...free, routing: { forcePro: true } }).task.explicit_route).toBe("FREE_SCOUT");
    expect(
      assessed({ ...free, redactions: 1, routing: { forcePro: true, sensitive: false } }).task.explicit_route,
    ).toBe("FREE_SCOUT");
  });

  test("explicit_route in metadata applies only to the automatic alias", () => {
    const routing = { taskFields: { explicit_route: "PRO" as const } };
    expect(assessed({ routing }).task.explicit_route).toBe("PRO");
    expect(assessed({ alias: "smart-router-flash", routing }).task.explicit_route).toBe("FLASH");
  });

  test("every routing-task field of metadata replaces the inferred one", () => {
    const taskFields = {
      kind: "AUTH",
      risk_level: "HIGH",
      blast_radius: "CRITICAL",
      reasoning_requirement: 0.91,
      ambiguity: 0.92,
      dependency_depth: 0.93,
      verification_difficulty: 0.94,
      estimated_tool_depth: 5,
      repo_context_present: true,
      repo_free_opt_in: true,
      explicit_route: "FLASH",
    } as const;
    expect(assessed({ ask: "hello", routing: { taskFields } }).task).toMatchObject(taskFields);
  });

  test("a stated kind determines the inferred risk", () => {
    expect(
      assessed({ ask: "Please go on.", routing: { taskFields: { kind: "DESTRUCTIVE_MIGRATION" } } }).task.risk_level,
    ).toBe("HIGH");
  });
});

describe("reasoning is high", () => {
  test("if the newest user message has the marker, also in a text part", () => {
    expect(assessed({ ask: "Think. [reasoning:high]" }).task.reasoning).toBe("HIGH");
    const parts = [
      { type: "text", text: "Think." },
      { type: "text", text: "[reasoning:high]" },
    ];
    expect(assessed({ messages: [{ role: "user", content: parts }] }).task.reasoning).toBe("HIGH");
    expect(assessed({ ask: `${"word ".repeat(50_000)}[reasoning:high]${" word".repeat(50_000)}` }).task.reasoning).toBe(
      "HIGH",
    );
  });

  test("not if the marker is in an older message, in another role, or in text of a harness or tool", () => {
    const marked = "[reasoning:high]";
    const user = (content: string) => ({ role: "user", content });
    const cases: JsonObject[][] = [
      [user(marked), { role: "assistant", content: "Done." }, user("Thanks.")],
      [{ role: "system", content: marked }, user("hello")],
      [user("hello"), { role: "assistant", content: marked }],
      [user("hello"), ...step("bash", { command: "cat notes" }, marked)],
      [user(`hello <system-reminder>${marked}</system-reminder>`)],
      [user(`hello <environment_details>${marked}</environment_details>`)],
      [
        user("hello"),
        { role: "assistant", content: "<execute_command>\ncat notes\n</execute_command>" },
        user(`[execute_command for 'cat notes'] Result:\n${marked}`),
      ],
    ];
    for (const messages of cases) expect(assessed({ messages }).task.reasoning).toBe("AUTO");
  });
});

describe("easy asks stay on the flash tier", () => {
  test.each(jsonLines<string>(import.meta.dir, "fixtures/easy-asks.jsonl"))("%s", (ask) => {
    expect(zone({ ask })).toBe("flash");
  });
});

describe("the number of different words", () => {
  test.each([
    ["English", "please look at the way that this small part works and tell what you see ".repeat(8)],
    ["Russian", "посмотри пожалуйста как устроена эта небольшая часть и расскажи ".repeat(8)],
    ["Chinese", "请看一下这个小部分是如何工作的并告诉我你看到了什么".repeat(8)],
    ["Japanese", "このちいさなぶぶんがどのようにうごいているかをみておしえてください".repeat(8)],
    ["Korean", "이 작은 부분이 어떻게 작동하는지 보고 무엇이 보이는지 말해 주세요 ".repeat(8)],
    ["Arabic", "من فضلك انظر إلى كيفية عمل هذا الجزء الصغير وأخبرني بما تراه ".repeat(8)],
    ["Thai", "กรุณาดูว่าส่วนเล็กๆนี้ทำงานอย่างไรและบอกว่าคุณเห็นอะไร".repeat(8)],
  ])("counts in %s too", (_, long) => {
    const [short, whole] = [long.slice(0, 12), long].map((ask) => assessed({ ask }).task);
    for (const dimension of [
      "reasoning_requirement",
      "ambiguity",
      "dependency_depth",
      "verification_difficulty",
    ] as const) {
      expect(whole?.[dimension]).toBeGreaterThan(short?.[dimension] ?? 1);
    }
  });
});

describe("for any input", () => {
  const content = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", "<task>", "</task>", "<task></task>", "[bash] Result:", "Error: x", "```", "[reasoning:high]"),
    fc.array(fc.record({ type: fc.constant("text"), text: fc.string() })),
    fc.constant(null),
  );
  const message = fc.record(
    {
      role: fc.constantFrom("system", "developer", "user", "assistant", "tool", "function"),
      content,
      tool_calls: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({
            id: fc.constantFrom("a", "b"),
            function: fc.record({
              name: fc.constantFrom("bash", "edit_file"),
              arguments: fc.oneof(fc.string(), fc.jsonValue()),
            }),
          }),
        ),
      ),
      tool_call_id: fc.oneof(fc.constantFrom("a", "b"), fc.jsonValue()),
      function_call: fc.jsonValue(),
    },
    { requiredKeys: ["role"] },
  );

  test("task and runtime satisfy the specification's schemas, the estimate is within its bound, and nothing is thrown", () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 12 }), (messages) => {
        const { task, runtime, size } = assessed({ messages: messages as JsonObject[], routing: { taskId: "t" } });
        expect(RoutingTask.parse(task)).toEqual(task);
        expect(RuntimeState.parse(runtime)).toEqual(runtime);
        expect(size.inputTokensEstimate).toBeLessThanOrEqual(size.inputTokensBound);
      }),
      { numRuns: 500 },
    );
  });
});
