import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import { ticksDuring } from "#platform/testing/ticks-during.ts";
import { credentialScan } from "#privacy/detect/scan.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { scanInSlices, sliceLength } from "./scan-in-slices.ts";

const scan = credentialScan({ credentials: true, disabled: new Set(), additionalRules: [] });
const noTick = async () => undefined;

// Assembled here so that scanners of repositories do not take them for keys.
const token = ["ghp", "x7Gk2mQ9vB4nR8tL1wZ5cJ3hF6yD0sA2pE4u"].join("_");
const named = ["pass", "word: 'Tr0ub4dor&3-horse'"].join("");
const pem = [
  "-----BEGIN RSA PRIVATE KEY-----",
  ...Array.from({ length: 40 }, (_, line) => `MIIEpAIBAAKCAQEA${"qT7xLw9Z".repeat(6)}${String(line).padStart(2, "0")}`),
  "-----END RSA PRIVATE KEY-----",
].join("\n");
const table = [
  "| user | password |",
  ...Array.from({ length: 150 }, (_, row) => `| u${row} | kT9!xw${row}Qz$v |`),
].join("\n");
const document = Buffer.from(`${"setting = 1\n".repeat(2_000)}${named}\n`).toString("base64");
const filler = "The quick brown fox jumps over the lazy dog.\n";

/** A text with this many characters before the inserted one, and 10,000 after it. */
const around = (secret: string, before: number) =>
  `${filler.repeat(Math.ceil(before / filler.length)).slice(0, before)}\n${secret}\n${filler.repeat(223)}`;

describe("a long text scanned in slices", () => {
  test.each([
    ["a token", token],
    ["a value with its name", named],
    ["a private key", pem],
    ["a table with a head", table],
    ["an encoded document", document],
  ])("finds %s, wherever a slice ends", async (_, secret) => {
    expect(scan(around(secret, 100)).length).toBeGreaterThan(0);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -secret.length - 4, max: 4 }),
        fc.integer({ min: 1, max: 2 }),
        async (at, slice) => {
          const text = around(secret, slice * sliceLength + at);
          expect(await scanInSlices(text, scan, noTick)).toEqual(scan(text));
        },
      ),
      { numRuns: 12 },
    );
  });

  test("finds all of a secret that is longer than the context after a slice", async () => {
    const lines = Array.from(
      { length: 3_000 },
      (_, line) => `${"PHNhbWxwOlJlc3BvbnNl".repeat(3)}${String(line).padStart(4, "A")}`,
    );
    const long = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".padEnd(64, "A"), ...lines].join("\n");
    const text = around(long, sliceLength - 100);
    const [span] = scan(text);
    expect((span?.end ?? 0) - (span?.start ?? 0)).toBeGreaterThan(150_000);
    expect(await scanInSlices(text, scan, noTick)).toEqual(scan(text));
  });

  test("never reads more than a slice and its context at once", async () => {
    const lengths: number[] = [];
    const measuring = (text: string) => {
      lengths.push(text.length);
      return [];
    };
    await scanInSlices("\u0301".repeat(2_000_000), measuring, noTick);
    expect(lengths.length).toBe(Math.ceil(2_000_000 / sliceLength));
    expect(Math.max(...lengths)).toBeLessThan(3 * sliceLength);
  });

  test("is redacted as it would be in one piece, over text parts and other fields too", async () => {
    const privacy = privacyEngine(Policy.parse({}).privacy);
    const half = Math.floor(token.length / 2);
    const body = {
      model: "smart-router",
      messages: [
        { role: "user" as const, content: around(token, sliceLength - 10) },
        {
          role: "user" as const,
          content: [
            { type: "text", text: `${around(named, sliceLength - 5)}${token.slice(0, half)}` },
            { type: "text", text: token.slice(half) },
          ],
        },
      ],
      other: { password: "kT9!xw42Qz$v", list: [around(pem, 2 * sliceLength - 600)] },
    };
    const whole = privacy.redactBody(body);
    expect(whole.total).toBeGreaterThanOrEqual(4);
    expect(await privacy.redactLargeBody(body)).toEqual(whole);
  });
});

test("other ticks of the event loop run while many short texts are scanned", async () => {
  const privacy = privacyEngine(Policy.parse({}).privacy);
  const list = Array.from({ length: 60_000 }, (_, index) => `n${index}`);
  const { ticks } = await ticksDuring(async () =>
    privacy.redactLargeBody({ model: "m", messages: [{ role: "user", content: "hello" }], list }),
  );
  expect(ticks).toBeGreaterThan(10);
});
