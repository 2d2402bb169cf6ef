import { afterEach, describe, expect, test } from "bun:test";
import { claimPort, type PortClaim } from "./port-claim.ts";

const claims: PortClaim[] = [];
const servers: { stop(force: boolean): unknown }[] = [];
afterEach(async () => {
  for (const claim of claims.splice(0)) claim.release();
  for (const server of servers.splice(0)) await server.stop(true);
});

const onLinux = test.skipIf(process.platform !== "linux");

async function claim(host: string, port: number): Promise<PortClaim> {
  const claim = await claimPort(host, port);
  claims.push(claim);
  return claim;
}

/** Listens as a worker does. */
function listen(hostname: string, port = 0): number {
  const server = Bun.serve({ hostname, port, reusePort: true, fetch: () => new Response() });
  servers.push(server);
  if (server.port === undefined) throw new Error("no port");
  return server.port;
}

async function freePort(): Promise<number> {
  const port = listen("127.0.0.1");
  for (const server of servers.splice(0)) await server.stop(true);
  return port;
}

const taken = expect.objectContaining({ code: "EADDRINUSE" });

describe("a port is claimed for one gateway", () => {
  onLinux.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "0.0.0.0"],
    ["0.0.0.0", "127.0.0.1"],
    ["localhost", "127.0.0.1"],
    ["127.0.0.1", "localhost"],
    ["::", "127.0.0.1"],
    ["::1", "::"],
    ["::1", "::1"],
  ])(
    "a gateway that listens on %s prevents another on %s, although both share the port with their workers",
    async (first, second) => {
      const port = listen(first);
      await expect(claim(second, port)).rejects.toEqual(taken);
    },
  );

  onLinux("another address of the same port is another gateway's to have", async () => {
    const port = listen("127.0.0.1");
    const other = await claim("127.0.0.2", port);
    other.listening();
  });

  onLinux("of two that start at once one gets it, and the other waits until that is sure", async () => {
    const port = await freePort();
    const first = await claim("127.0.0.1", port);
    let settled = false;
    const second = claim("0.0.0.0", port).finally(() => {
      settled = true;
    });
    second.catch(() => undefined);
    await Bun.sleep(0);
    expect(settled).toBe(false);
    listen("127.0.0.1", port);
    first.listening();
    await expect(second).rejects.toEqual(taken);
  });

  onLinux("it stays claimed while no worker listens, and is free once released", async () => {
    const port = await freePort();
    const first = await claim("127.0.0.1", port);
    first.listening();
    await expect(claim("127.0.0.1", port)).rejects.toEqual(taken);
    first.release();
    await claim("127.0.0.1", port);
  });
});
