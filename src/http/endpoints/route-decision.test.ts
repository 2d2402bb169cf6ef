import { describe, expect, test } from "bun:test";
import { RoutingTask, RuntimeState } from "#domain/routing.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { parseDecisionRequest } from "./route-decision.ts";

const marked = "sk-" + "looks-like-a-key";
const privacy: Parameters<typeof parseDecisionRequest>[1] = {
  redactLargeBody: (body) => ({
    body,
    findings: [],
    unredactable: [],
    total: JSON.stringify(body).includes(marked) ? 1 : 0,
  }),
};
const parse = (body: unknown) =>
  parseDecisionRequest(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), privacy);
const detailOf = async (body: unknown) => {
  const parsed = await parse(body);
  return "status" in parsed ? parsed.detail : "accepted";
};
const least = { task_id: "t", instruction: "Sort a list." };
const taskWith = (fields: object) => ({ task: { ...least, ...fields } });

describe("a valid request", () => {
  test("needs a task id and an instruction; everything else has a default", async () => {
    expect(await parse({ task: least })).toMatchObject({
      task: RoutingTask.parse(least),
      runtime: RuntimeState.parse({}),
    });
  });

  test("may contain unknown keys, in the body, the task and the runtime", async () => {
    const parsed = await parse({ task: { ...least, colour: "red" }, runtime: { mood: "good" }, extra: true });
    expect(parsed).toMatchObject({ task: least });
    expect(JSON.stringify(parsed)).not.toMatch(/colour|mood|extra/);
  });

  test("may have null in optional fields", async () => {
    const nulls = { goal_id: null, kind: null, ambiguity: null, sensitive: null, metadata: null };
    const parsed = await parse({ task: { ...least, ...nulls }, runtime: { attempts: null, error_signature: null } });
    expect(parsed).toMatchObject({ task: RoutingTask.parse(least), runtime: RuntimeState.parse({}) });
    expect(await detailOf({ task: least, runtime: null })).toBe("accepted");
  });
});

describe("the instruction", () => {
  test("with [reasoning:high] requests high reasoning", async () => {
    expect(await parse(taskWith({ instruction: "[reasoning:high] Prove it." }))).toMatchObject({
      task: { reasoning: "HIGH" },
    });
    expect(await parse(taskWith({ instruction: "Prove it." }))).toMatchObject({ task: { reasoning: "AUTO" } });
  });

  test("with a credential in it makes the task sensitive, whatever the task says", async () => {
    const secret = { instruction: `Use ${marked} here.`, sensitive: false };
    expect(await parse(taskWith(secret))).toMatchObject({ task: { sensitive: true } });
    expect(await parse(taskWith({ sensitive: false }))).toMatchObject({ task: { sensitive: false } });
  });

  test("that cannot be scanned counts as sensitive", async () => {
    const broken = {
      redactLargeBody: () => {
        throw new Error("out of order");
      },
    };
    expect(
      await parseDecisionRequest(Buffer.from(JSON.stringify(taskWith({ sensitive: false }))), broken),
    ).toMatchObject({
      task: { sensitive: true },
    });
  });
});

describe("an invalid request", () => {
  test.each([
    ["", "The body is not valid JSON."],
    ["{", "The body is not valid JSON."],
    ["[]", "The body must be a JSON object with `task` and, if there is one, `runtime`."],
    ["null", "The body must be a JSON object with `task` and, if there is one, `runtime`."],
    ["[".repeat(65), "The body nests deeper than 64 levels."],
  ])("%j: %s", async (text, detail) => {
    expect(await detailOf(text)).toBe(detail);
  });

  test.each(jsonLines<[unknown, string]>(import.meta.dir, "fixtures/invalid-decisions.jsonl"))(
    "%j: %s",
    async (body, detail) => {
      expect(await detailOf(body)).toBe(detail);
    },
  );

  test("gets a message that names the problem, never the values", async () => {
    const secret = "my private words";
    for (const body of [taskWith({ kind: secret }), taskWith({ sensitive: secret }), { task: secret }, `{${secret}`]) {
      expect(await detailOf(body)).not.toContain(secret);
    }
  });

  test("with very many problems gets the first few", async () => {
    const task = Object.fromEntries(Object.keys(RoutingTask.shape).map((key) => [key, []]));
    expect((await detailOf({ task })).split("; ")).toHaveLength(8);
  });
});
