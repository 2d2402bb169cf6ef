/**
 * The minimal proxy that chooses a model: `Bun.serve`, `fetch`, the request parsed, its model set, and written as JSON again; a whole
 * answer likewise. What comes on top of it in the gateway is what the gateway guarantees. Usage:
 * `bun bench/support/rewriting-proxy.ts UPSTREAM_BASE_URL`.
 */
const upstream = process.argv[2];
if (upstream === undefined) throw new Error("usage: bun bench/support/rewriting-proxy.ts UPSTREAM_BASE_URL");

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch(request) {
    const received = (await request.json()) as Record<string, unknown>;
    const body = { ...received, model: "vendor/model" };
    const answer = await fetch(`${upstream}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: request.signal,
    });
    const type = answer.headers.get("content-type") ?? "application/json";
    const init = { status: answer.status, headers: { "content-type": type } };
    if (!type.startsWith("application/json")) return new Response(answer.body, init);
    const { model: _, ...rest } = (await answer.json()) as Record<string, unknown>;
    return new Response(JSON.stringify({ ...rest, model: body.model }), init);
  },
});
console.log(`listening on http://127.0.0.1:${server.port}/v1`);

export {};
