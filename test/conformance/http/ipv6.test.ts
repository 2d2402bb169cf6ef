import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { authorization, postChat, type Reply, start, startUpstream, type TestGateway } from "../../harness/gateway.ts";

/** The status of a request that is sent to an address of this machine. */
function statusAt(host: string, gateway: TestGateway, path: string, ...headers: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ host, port: Number(new URL(gateway.url).port) }, () => {
      socket.write(`${[`GET ${path} HTTP/1.1`, "Connection: close", ...headers].join("\r\n")}\r\n\r\n`);
    });
    socket.on("data", (data) => {
      text += data;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(Number(text.split(" ")[1])));
  });
}

const usage = async (reply: Reply) => [reply.status, (await reply.json()).choices?.length];

describe("over IPv6", () => {
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  let loopback: TestGateway;
  let everywhere: TestGateway;
  beforeAll(async () => {
    upstream = await startUpstream({ hostname: "::1" });
    const toUpstream = { UPSTREAM_BASE_URL: `http://[::1]:${upstream.port}/api/v1` };
    loopback = await start({ env: { HOST: "::1", ...toUpstream } });
    everywhere = await start({ env: { HOST: "::", ...toUpstream } });
  });
  afterAll(async () => {
    await Promise.all([loopback.stop(), everywhere.stop()]);
    await upstream.stop();
  });

  test("a gateway on ::1 answers, and calls an upstream on [::1]", async () => {
    expect(loopback.url).toStartWith("http://[::1]:");
    const before = upstream.received();
    expect(await usage(await postChat(loopback.url))).toEqual([200, 1]);
    expect(upstream.received()).toBe(before + 1);
  });

  test("a gateway on :: answers on both families", async () => {
    const port = new URL(everywhere.url).port;
    for (const host of ["[::1]", "127.0.0.1"]) {
      expect(await usage(await postChat(`http://${host}:${port}`))).toEqual([200, 1]);
    }
  });

  test("the dashboard without a token takes callers of ::1 and of a mapped 127.0.0.1 for local, not those of a proxy", async () => {
    const port = new URL(everywhere.url).port;
    const policy = (host: string, name: string, ...headers: string[]) =>
      statusAt(host, everywhere, "/dashboard/api/policy", `Host: ${name}:${port}`, ...headers);
    expect(await policy("::1", "[::1]")).toBe(200);
    expect(await policy("127.0.0.1", "127.0.0.1")).toBe(200);
    expect(await policy("::1", "[::1]", "X-Forwarded-For: ::1")).toBe(403);
    expect(await policy("::1", "[::1]", 'Forwarded: for="[::1]"')).toBe(403);
    expect(await policy("::1", "[2001:db8::1]")).toBe(403);
    expect(await policy("::1", "[::1]", `Authorization: ${authorization.authorization}`)).toBe(200);
  });
});
