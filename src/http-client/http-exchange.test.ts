import { expect, test } from "bun:test";
import { nextOf } from "#platform/receiver.ts";
import { HttpAgent } from "./http-agent.ts";

const whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/** A server that answers each request with the same bytes, in one write. */
function server(answer: string) {
  let connections = 0;
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: () => void connections++,
      data: (socket) => void socket.write(answer),
    },
  });
  const agent = new HttpAgent({ url: `http://127.0.0.1:${listener.port}/`, now: () => 0 });
  const head = agent.head({});
  return {
    connections: () => connections,
    post: () => agent.post(head, "{}", false, () => {}),
    [Symbol.dispose]: () => listener.stop(true),
  };
}

test("a connection whose exchange is cancelled during its last text is not reused", async () => {
  using upstream = server(whole);
  const exchange = upstream.post();
  const error = await new Promise((resolve) => {
    const receiver = {
      onValue() {
        exchange.cancel();
        exchange.read(receiver);
      },
      onEnd: () => resolve(undefined),
      onError: resolve,
    };
    exchange.read(receiver);
  });
  expect(error).toHaveProperty("code", "CANCELLED");
  const next = upstream.post();
  expect((await next.head()).status).toBe(200);
  expect(await nextOf(next)).toBe("hello");
  expect(upstream.connections()).toBe(2);
});
