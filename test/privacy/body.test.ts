import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";
import type { ChatBody } from "#privacy/redaction.ts";

const token = "ghp_" + "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o";
const other = "AKIA" + "W7LWFKN6WPOHDWLE";
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

  test("has every secret replaced in every role and place, and is not changed itself", () => {
    const call = { id: "call_1", type: "function", function: { name: "f", arguments: JSON.stringify({ a: token }) } };
    const sent = body(
      { role: "system", content: `s ${token}` },
      {
        role: "user",
        content: [
          { type: "text", text: "look:" },
          { type: "text", text: `u ${token}` },
        ],
      },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "assistant", content: null, function_call: { name: "g", arguments: `{"b":"${token}"}` } },
      { role: "tool", tool_call_id: "call_1", content: `t ${token}` },
    );
    const before = JSON.stringify(sent);
    const redacted = engine.redactBody(sent);
    expect(JSON.stringify(sent)).toBe(before);
    expect(JSON.stringify(redacted.body)).toBe(before.replaceAll(token, "[REDACTED:github_token:1]"));
    expect(redacted.total).toBe(5);
    expect(redacted.findings).toEqual(
      [0, 1, 2, 3, 4].map((messageIndex) => ({ rule: "github_token", count: 1, messageIndex })),
    );
    expect(JSON.stringify(redacted)).not.toContain(token.slice(8, 16));
  });

  test("shares the unchanged parts", () => {
    const sent = body({ role: "user", content: "hello" }, { role: "user", content: token });
    expect(engine.redactBody(sent).body.messages[0]).toBe(sent.messages[0]!);
  });

  test("has the same number for the same secret, in document order", () => {
    const sent = body({ role: "user", content: `${other} ${token}` }, { role: "user", content: `${token} ${other}` });
    const contents = engine.redactBody(sent).body.messages.map((message) => message["content"]);
    expect(contents).toEqual([
      "[REDACTED:aws_access_key_id:1] [REDACTED:github_token:2]",
      "[REDACTED:github_token:2] [REDACTED:aws_access_key_id:1]",
    ]);
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
