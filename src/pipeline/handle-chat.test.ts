import { expect, test } from "bun:test";
import type { ChatRequest } from "#domain/chat.ts";
import { manualTime } from "#domain/manual-time.ts";
import { aPolicy, aRegistry } from "#pipeline/decide/fixtures.ts";
import { capsOf } from "#policy/caps.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { handleChat } from "./handle-chat.ts";
import type { Ports } from "./ports.ts";

const request: ChatRequest = {
  requestId: "r1",
  alias: "smart-router",
  stream: false,
  body: { messages: [{ role: "user", content: "the words of the prompt" }] },
  bodyBytes: 100,
  requestedOutputTokens: null,
  choices: 1,
  wantsUsage: false,
  routing: { forcePro: false, scoutFirst: false, taskFields: {} },
  receivedAtMs: 0,
};

test.each([100, 2_000_000])(
  "a privacy gate that fails (body of %d bytes) refuses the request and touches nothing else",
  async (bodyBytes) => {
    const time = manualTime();
    const policy = aPolicy();
    const broken = () => {
      throw new Error("while reading: the words of the prompt");
    };
    const privacy = { ...privacyEngine(policy.privacy), redactBody: broken, redactBodyAsync: async () => broken() };
    const untouchable = new Proxy({}, { get: (_, name) => expect.unreachable(`asked for ${String(name)}`) });
    const ports = {
      clock: time.clock,
      timers: time.timers,
      ledger: untouchable,
      health: untouchable,
      upstream: untouchable,
      tasks: untouchable,
      retryBudget: { countRequest: () => {} },
      newId: () => "d1",
      config: () => ({ policy, registry: aRegistry(), caps: capsOf(policy), privacy }),
      record: () => expect.unreachable("recorded"),
    } as unknown as Ports; // the rest must not be asked for
    const reply = await handleChat({ ...request, bodyBytes }, ports, new AbortController());
    expect(reply).toMatchObject({ kind: "refusal", status: 403, code: "privacy_gate_failed", shouldRetry: false });
    expect(JSON.stringify(reply)).not.toContain("words of the prompt");
  },
);
