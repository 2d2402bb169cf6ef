import { expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import type { ChatRequest } from "#domain/chat.ts";
import { turnsDuring } from "#platform/testing/turns-during.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { largeTextBytes, redactRequest } from "./redact-request.ts";

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;

function redactionOf(bytes: number) {
  const content = `${"sk-or-v1-".repeat(Math.ceil(bytes / 9))} ${token}`;
  const body = { model: "smart-router", messages: [{ role: "user", content }] };
  // The two fields that redaction reads.
  const request = { body, bodyBytes: content.length } as unknown as ChatRequest;
  const configuration = { privacy: privacyEngine(Policy.parse({}).privacy) } as Parameters<typeof redactRequest>[1];
  return redactRequest(request, configuration);
}

test("a body of less than a megabyte is redacted in ticks of the event loop too, with other requests served between", async () => {
  const redacting = redactionOf(900_000);
  expect(redacting).toBeInstanceOf(Promise);
  const { turns, value: redacted } = await turnsDuring(async () => redacting);
  expect(turns).toBeGreaterThanOrEqual(900_000 / largeTextBytes);
  expect(JSON.stringify(redacted)).not.toContain(token);
});
