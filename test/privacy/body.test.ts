import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";
import type { ChatBody } from "#privacy/redaction.ts";

const token = "ghp_" + "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o";
const engine = privacyEngine(Policy.parse({}).privacy);
const restoring = privacyEngine(Policy.parse({ privacy: { restore: "text" } }).privacy);

const body = (...messages: ChatBody["messages"]): ChatBody => ({ model: "smart-router", messages });

describe("a request body", () => {
  test("without secrets is returned as the same object", () => {
    const plain = body({ role: "user", content: "hello" }, { role: "assistant", content: null });
    const redacted = engine.redactBody(plain);
    expect(redacted.body).toBe(plain);
    expect(redacted).toMatchObject({ findings: [], total: 0, unredactable: [] });
    expect(redacted.restore).toBeUndefined();
  });

  test("shares the unchanged parts", () => {
    const sent = body({ role: "user", content: "hello" }, { role: "user", content: token });
    expect(engine.redactBody(sent).body.messages[0]).toBe(sent.messages[0]!);
  });

  test("keeps tool definitions unchanged, and reports their findings", () => {
    const sent = { ...body({ role: "user", content: "hello" }), tools: [{ type: "function", description: token }] };
    const redacted = engine.redactBody(sent);
    expect(redacted.body).toBe(sent);
    expect(redacted.unredactable).toEqual([{ rule: "github_token", count: 1, messageIndex: -1 }]);
    expect(redacted.total).toBe(0);
  });

  test("offers to restore only if the policy says so", () => {
    const sent = body({ role: "user", content: token });
    expect(engine.redactBody(sent).restore).toBeUndefined();
    expect(restoring.redactBody(sent).restore?.text("use [REDACTED:github_token:1]")).toBe(`use ${token}`);
  });
});
