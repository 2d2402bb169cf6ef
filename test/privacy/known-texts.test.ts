import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatMessage } from "#domain/chat.ts";
import { start } from "../harness/gateway.ts";

const file = join(import.meta.dir, "../../../shared/secrets-dev/cases.jsonl");
/** Some 20 KB around each case: enough for the gateway to remember its text and to forward the body by its bytes. */
const filler = "The quarterly report is generated from the orders table and then sent to the finance list. ".repeat(
  110,
);

interface Case {
  readonly id: string;
  readonly text: string;
  readonly secrets: readonly string[];
}

function casesOf(path: string): Case[] {
  const decode = (encoded: string) =>
    Buffer.from(Buffer.from(encoded, "base64").map((byte) => byte ^ 0x2a)).toString("utf8");
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const { id, text, secrets } = JSON.parse(line) as Case; // our own file, one object a line
      return { id, text: `${filler}\n${decode(text)}\n${filler}`, secrets: secrets.map(decode) };
    });
}

/** The places of a text in a conversation. */
const places: readonly ((text: string) => ChatMessage[])[] = [
  (text) => [{ role: "user", content: text }],
  (text) => [
    {
      role: "user",
      content: [
        { type: "text", text: "Please look at this." },
        { type: "text", text },
      ],
    },
  ],
  (text) => [
    { role: "system", content: text },
    { role: "user", content: "Please look at this." },
  ],
  (text) => [
    { role: "user", content: "Please look at this." },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "write", arguments: JSON.stringify({ content: text }) } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: text },
  ],
];

describe.skipIf(!existsSync(file))("the development cases (skipped where ../shared/secrets-dev is absent)", () => {
  const cases = existsSync(file) ? casesOf(file) : [];

  test("give the same result in a running gateway the second time, when none of their texts is scanned", async () => {
    await using gateway = await start();
    const counters = async () => {
      const metrics = await (await gateway.get("/metrics")).text();
      const read = (name: string) => Number(new RegExp(`^${name} (\\d+)`, "m").exec(metrics)?.[1]);
      return {
        hits: read("smart_gateway_scan_memory_hits_total"),
        misses: read("smart_gateway_scan_memory_misses_total"),
      };
    };
    const sendAll = async () => {
      const sent: string[] = [];
      for (const [index, { text }] of cases.entries()) {
        const before = gateway.upstream.requests.length;
        const reply = await gateway.chat({ messages: places[index % places.length]?.(text) ?? [] });
        await reply.text();
        // A refused request leaves nothing at the upstream.
        sent.push(reply.status === 200 ? JSON.stringify(gateway.upstream.requests[before]?.body) : `${reply.status}`);
      }
      return sent;
    };
    const first = await sendAll();
    const between = await counters();
    expect(await sendAll()).toEqual(first);
    const after = await counters();
    expect(after.misses).toBe(between.misses);
    expect(after.hits).toBeGreaterThan(between.hits + cases.length - 1);

    const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
    const leaked = cases.filter(({ secrets }, index) =>
      secrets.some((secret) => first[index]?.includes(inJson(secret))),
    );
    expect(leaked.map(({ id }) => id)).toEqual([]);
    const changed = cases.filter(
      ({ secrets, text }, index) => secrets.length === 0 && !first[index]?.includes(inJson(text)),
    );
    expect(changed.map(({ id }) => id)).toEqual([]);
  });
});
