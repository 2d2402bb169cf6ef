import { chunk, streams } from "#simulator/testing/scripted.ts";

/** A stream of one chunk, `a`, whose connection is reset once the reader has received the chunk and calls `received`. */
export function cutStream() {
  const { promise, resolve: received } = Promise.withResolvers<void>();
  const behaviour = streams({
    events: [chunk({ content: "a" })],
    end: "rst",
    gate: (index) => (index === 1 ? promise : undefined),
  });
  return { behaviour, received };
}
