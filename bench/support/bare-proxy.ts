/**
 * The minimal proxy on this runtime: `Bun.serve`, `fetch`, and the body passed on unread. The gateway's cost is compared with it,
 * on the same core in the same run. Usage: `bun bench/support/bare-proxy.ts UPSTREAM_BASE_URL`.
 */
const upstream = process.argv[2];
if (upstream === undefined) throw new Error("usage: bun bench/support/bare-proxy.ts UPSTREAM_BASE_URL");

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch(request) {
    const answer = await fetch(`${upstream}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: await request.arrayBuffer(),
      signal: request.signal,
    });
    const type = answer.headers.get("content-type") ?? "application/json";
    return new Response(answer.body, { status: answer.status, headers: { "content-type": type } });
  },
});
console.log(`listening on http://127.0.0.1:${server.port}/v1`);

export {};
