import { expect, test } from "bun:test";
import { capsOf } from "#config/policy.ts";
import type { ChatRequest } from "#domain/chat.ts";
import { aPolicy, aRegistry } from "#pipeline/decide/fixtures.ts";
import { manualTime } from "#platform/manual-time.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { callerEvidence } from "./execute/caller-evidence.ts";
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

/** The ports that a stream needs until it begins. */
function streamingPorts(onCall: (name: string, messages?: object) => void): Ports {
  const time = manualTime();
  let decisions = 0;
  const policy = aPolicy();
  const registry = aRegistry();
  const healthy = { state: "HEALTHY", routable: true, sinceMs: 0, reason: "" };
  const account = { held: 0, spent: 0, hard: null };
  return {
    clock: time.clock,
    timers: time.timers,
    ledger: {
      peek: () => ({ goalAccount: account, dayAccount: account }),
      async reserve() {
        onCall("reserve");
        return { kind: "held" };
      },
      resolve: async () => {},
    },
    health: {
      view: () => Object.fromEntries([...registry.models.keys()].map((key) => [key, healthy])),
      shed: () => false,
      admit: (model: string) => ({ model, epoch: 0, probe: false, answering() {}, report() {} }),
    },
    upstream: {
      async send({ body }: { body: { messages: object } }) {
        onCall("send", body.messages);
        return { kind: "stream", events: (async function* () {})(), firstEventMs: 1 };
      },
    },
    tasks: { recall: () => undefined, remember() {}, served() {} },
    conversations: { recall: () => undefined, remember() {} },
    retryBudget: { countRequest() {}, take: () => false },
    callerEvidence: callerEvidence(time.clock),
    newId: () => `d${++decisions}`,
    config: () => ({
      policy,
      registry,
      caps: capsOf(policy),
      fields: fieldRulesOf(policy),
      privacy: privacyEngine(policy.privacy),
    }),
    record: () => {},
  } as unknown as Ports; // the others are not used
}

test("a running stream keeps neither the received nor the sent conversation in memory", async () => {
  const sent: WeakRef<object>[] = [];
  const received: WeakRef<object>[] = [];
  const ports = streamingPorts((_, messages) => {
    if (messages !== undefined) sent.push(new WeakRef(messages));
  });
  const streams: unknown[] = [];
  for (let count = 0; count < 40; count++) {
    const messages = [{ role: "user" as const, content: `the words of prompt ${count}` }];
    received.push(new WeakRef(messages));
    const reply = await handleChat({ ...request, stream: true, body: { messages } }, ports, new AbortController());
    expect(reply.kind).toBe("stream");
    if (reply.kind === "stream") streams.push(reply.stream);
  }
  await new Promise((resolve) => setImmediate(resolve));
  Bun.gc(true);
  const alive = (refs: WeakRef<object>[]) => refs.filter((ref) => ref.deref() !== undefined).length;
  // The collector treats everything on the stack that looks like a pointer as one, so a few may survive.
  expect(streams).toHaveLength(40);
  expect(alive(received)).toBeLessThan(10);
  expect(alive(sent)).toBeLessThan(10);
});
