import { expect, test } from "bun:test";
import { connect } from "node:net";
import { silent } from "#simulator/behaviours.ts";
import { authorization, eventually, startUpstream } from "../harness/gateway.ts";
import { serve } from "../harness/process.ts";

test("hundreds of upstream calls run at once", async () => {
  const upstream = await startUpstream({ script: () => silent() });
  await using gateway = await serve({ UPSTREAM_BASE_URL: upstream.url });
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({
    model: "smart-router-flash",
    max_tokens: 9,
    messages: [{ role: "user", content: "x" }],
  });
  const request = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  // Raw sockets, so that the limit of this process's own client is not measured.
  const sockets = Array.from({ length: 300 }, () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => undefined);
    socket.write(request);
    return socket;
  });
  await eventually(
    () => upstream.unfinished() === sockets.length,
    () => `${upstream.unfinished()} calls`,
  );
  for (const socket of sockets) socket.destroy();
  await eventually(() => upstream.unfinished() === 0);
  await upstream.stop();
  gateway.signal("SIGINT");
  gateway.signal("SIGINT");
  expect(await gateway.exited()).toBe(0);
});
