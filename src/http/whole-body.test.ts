import { describe, expect, test } from "bun:test";
import { wholeBody } from "./whole-body.ts";

/** A server whose answers wait for a turn of the event loop, as those of the gateway do. */
function serving(bodyOf: () => Parameters<typeof wholeBody>[0]) {
  const headers = Array.from({ length: 12 }, (_, at): [string, string] => [`x-header-${at}`, "value"]);
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch() {
      await new Promise((resolve) => setImmediate(resolve));
      return new Response(wholeBody(bodyOf()), { headers });
    },
  });
}

/** Asks five times in a row and prints whether the first read of each answer brings all of its head. */
const firstReads = `
const { connect } = require("node:net");
const port = Number(process.argv[1]);
const reads = [];
(function ask() {
  if (reads.length === 5) return console.log(JSON.stringify(reads));
  const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"));
  socket.once("data", (bytes) => {
    const text = bytes.toString("latin1");
    reads.push(text.includes("\\r\\n\\r\\n") && text.split("\\r\\n").length > 14);
    socket.destroy();
    ask();
  });
})();
`;

describe("a body whose text is known", () => {
  test.each([100, 14_999, 15_001, 40_000, 200_000])(
    "leaves in one piece with its head, of %d characters",
    async (length) => {
      await using server = serving(() => "x".repeat(length));
      const caller = Bun.spawn([process.execPath, "-e", firstReads, String(server.port)], { stdout: "pipe" });
      expect(await new Response(caller.stdout).json()).toEqual([true, true, true, true, true]);
    },
  );

  test.each(["x", "é", "😀", "x\u0000"])("arrives unchanged, with its length, made of %j", async (unit) => {
    for (const bytes of [0, 1, 4_999, 5_001, 14_999, 15_001, 20_000, 1_048_574, 1_048_576, 1_048_580]) {
      const text = unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit)));
      const half = Math.ceil(text.length / 4) * 2; // characters of two units stay whole
      for (const body of [text, Buffer.from(text), [text.slice(0, half), "", text.slice(half)], [text]]) {
        await using server = serving(() => body);
        const answer = await fetch(server.url);
        expect(answer.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
        expect((await answer.text()) === text).toBe(true);
      }
    }
  });
});
