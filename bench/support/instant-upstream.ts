/**
 * An upstream without latency: one answer and one stream, made once, so that a measurement shows the cost of the server before it.
 * Usage: `bun bench/support/instant-upstream.ts [EVENTS_PER_STREAM [EVENTS_PER_WRITE [INTERVAL_MS]]]`. With an interval all
 * streams write at the same moments, so that one timer serves them all. A request with `"max_tokens":1` gets its stream without pauses,
 * in ten writes of its own turns, so that it is still one that comes in pieces.
 */
const eventsPerStream = Number(process.argv[2] ?? 50);
// Ten events at a time, like the tokens of a fast model in the packets of a busy network.
const eventsPerWrite = Number(process.argv[3] ?? 10);
const intervalMs = Number(process.argv[4] ?? 0);
const envelope = { id: "gen-1-bench", provider: "Bench", model: "deepseek/deepseek-v4-flash", created: 1_700_000_000 };
const usage = {
  prompt_tokens: 200,
  completion_tokens: eventsPerStream,
  total_tokens: 200 + eventsPerStream,
  cost: 0.00005,
};

const answer = JSON.stringify({
  ...envelope,
  object: "chat.completion",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "word ".repeat(50) } }],
  usage,
});

const chunk = (rest: object) =>
  `data: ${JSON.stringify({ ...envelope, object: "chat.completion.chunk", ...rest })}\n\n`;
const word = chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "word " }, finish_reason: null }] });
const finish = chunk({ choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop" }] });
const last = `${finish}${chunk({ choices: [], usage })}data: [DONE]\n\n`;

let tick = Promise.withResolvers<void>();
if (intervalMs > 0) {
  setInterval(() => {
    const due = tick;
    tick = Promise.withResolvers();
    due.resolve();
  }, intervalMs);
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch(request) {
    const body = await request.text();
    if (!body.includes('"stream":true'))
      return new Response(answer, { headers: { "content-type": "application/json" } });
    const atOnce = /"max_tokens":1\b/.test(body);
    const perWrite = atOnce ? Math.ceil(eventsPerStream / 10) : eventsPerWrite;
    const events = new ReadableStream({
      type: "direct",
      async pull(controller: ReadableStreamDirectController) {
        for (let sent = 0; sent < eventsPerStream; sent += perWrite) {
          controller.write(word.repeat(Math.min(perWrite, eventsPerStream - sent)));
          await controller.flush();
          if (atOnce) await new Promise((resolve) => setImmediate(resolve));
          else if (intervalMs > 0) await tick.promise;
        }
        controller.write(last);
        controller.close();
      },
    });
    return new Response(events, { headers: { "content-type": "text/event-stream" } });
  },
});
console.log(`listening on http://127.0.0.1:${server.port}/v1`);

export {};
