import { expect, test } from "bun:test";
import { eventsOf } from "./client.ts";

async function read(...pieces: string[]): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  return Array.fromAsync(eventsOf(new Response(body)));
}

test("events are complete wherever the bytes are split, and comments are skipped", async () => {
  const text = ': keep-alive\n\nevent: progress\ndata: {"a":1}\n\ndata: two\ndata: lines\r\n\r\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    expect(await read(text.slice(0, cut), text.slice(cut))).toEqual(['{"a":1}', "two\nlines"]);
  }
});

test("an event that the end of the stream cuts off is dropped", async () => {
  expect(await read("data: whole\n\ndata: cut")).toEqual(["whole"]);
});
