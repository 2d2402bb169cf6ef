import { expect, test } from "bun:test";
import { capsOf } from "#config/policy.ts";
import type { ChatRequest } from "#domain/chat.ts";
import { aPolicy, aRegistry } from "#pipeline/decide/fixtures.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { fieldRulesOf } from "./field-rules.ts";
import { handleChat } from "./handle-chat.ts";
import type { Ports } from "./ports.ts";

const request: ChatRequest = {
  requestId: "r1",
  alias: "smart-router",
  stream: false,
  caller: 0,
  body: { messages: [{ role: "user", content: "the words of the prompt" }] },
  bodyBytes: 100,
  requestedOutputTokens: null,
  choices: 1,
  wantsUsage: false,
  routing: { forcePro: false, scoutFirst: false, taskFields: {} },
  receivedAtMs: 0,
};

test.each([100, 2_000_000])(
  "a failure of the privacy gate (body of %d bytes) refuses the request without any other effect",
  async (bodyBytes) => {
    const time = manualTime();
    const policy = aPolicy();
    const broken = () => {
      throw new Error("while reading: the words of the prompt");
    };
    const privacy = { ...privacyEngine(policy.privacy), redactBody: broken, redactLargeBody: broken };
    const untouchable = new Proxy({}, { get: (_, name) => expect.unreachable(`asked for ${String(name)}`) });
    const ports = {
      clock: time.clock,
      timers: time.timers,
      ledger: untouchable,
      health: untouchable,
      upstream: untouchable,
      tasks: untouchable,
      conversations: untouchable,
      retryBudget: { countRequest: () => {} },
      newId: () => "d1",
      config: () => ({ policy, registry: aRegistry(), caps: capsOf(policy), fields: fieldRulesOf(policy), privacy }),
      record: () => expect.unreachable("recorded"),
    } as unknown as Ports; // other ports must not be used
    const reply = await handleChat({ ...request, bodyBytes }, ports, new AbortController());
    expect(reply).toMatchObject({ kind: "refusal", status: 403, code: "privacy_gate_failed", shouldRetry: false });
    expect(JSON.stringify(reply)).not.toContain("words of the prompt");
  },
);
