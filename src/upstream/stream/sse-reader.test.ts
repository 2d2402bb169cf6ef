import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SseReader } from "./sse-reader.ts";

type Seen = [data: string, name: string][];

function read(pieces: (string | Uint8Array)[], maxEventBytes = 1_000_000) {
  const reader = new SseReader(maxEventBytes);
  const seen: Seen = [];
  const sink = (data: string, name: string) => void seen.push([data, name]);
  const decoder = new TextDecoder();
  let pushed = "read";
  for (const piece of pieces) {
    pushed = reader.push(
      decoder.decode(typeof piece === "string" ? Buffer.from(piece) : piece, { stream: true }),
      sink,
    );
    if (pushed === "too_large") break;
  }
  if (pushed === "read") reader.finish(sink);
  return { seen, pushed };
}

describe("SSE reader", () => {
  test("stops at an event that is too large, in one line or in several", () => {
    const line = `data: ${"x".repeat(100)}\n`;
    expect(read(Array(20).fill(line), 1_000).pushed).toBe("too_large");
    expect(read(Array(20).fill("x".repeat(100)), 1_000).pushed).toBe("too_large");
    expect(read(Array(20).fill(`${line}\n`), 1_000).pushed).toBe("read");
  });

  const field = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }).map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
    fc.constantFrom("data: Grüße 🌍", "data:", "data", ": comment", "event: error", "id: 1", "", "", "", "nonsense: x"),
  );
  const stream = fc.array(fc.tuple(field, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 30 });

  test("reads the same as a plain implementation of the standard", () => {
    fc.assert(
      fc.property(stream, (lines) => {
        // A CR line followed by an empty LF line is one CRLF; the plain implementation sees the joined text too.
        const text = lines.map(([field, end]) => field + end).join("");
        expect(read([text]).seen).toEqual(plainReading(text));
      }),
    );
  });
});

/** The standard's algorithm, line by line, on the whole text; an unfinished last event counts, as in our reader. */
function plainReading(text: string): Seen {
  const seen: Seen = [];
  let data: string[] = [];
  let name = "";
  for (const line of [
    ...text
      .toWellFormed()
      .replace(/^\ufeff/, "")
      .split(/\r\n|\n|\r/),
    "",
  ]) {
    if (line === "") {
      if (data.length > 0) seen.push([data.join("\n"), name]);
      data = [];
      name = "";
      continue;
    }
    const [, key = "", value = ""] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? [];
    if (key === "data") data.push(value);
    if (key === "event") name = value;
  }
  return seen;
}
