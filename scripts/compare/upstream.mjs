// The scripted upstream: the n-th call of a case takes the n-th step, the last one repeats; without steps, a plain answer.
import { createServer } from "node:http";

const usage = { prompt_tokens: 40, completion_tokens: 5, total_tokens: 45, cost: 0.000012 };

/** @returns the JSON of a whole answer */
export function completion(model, message = { role: "assistant", content: "ok" }) {
  const choices = [{ index: 0, message, finish_reason: message.tool_calls === undefined ? "stop" : "tool_calls" }];
  return JSON.stringify({ id: "gen-1", object: "chat.completion", created: 1_700_000_000, model, choices, usage });
}

/** @returns the text of an event stream whose deltas are given */
export function eventStream(model, deltas, { done = true, finish = "stop", withUsage = true } = {}) {
  const chunk = (part) =>
    `data: ${JSON.stringify({ id: "gen-1", object: "chat.completion.chunk", created: 1_700_000_000, model, ...part })}\n\n`;
  return [
    ...deltas.map((delta) => chunk({ choices: [{ index: 0, delta, finish_reason: null }] })),
    ...(finish === null ? [] : [chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] })]),
    ...(withUsage ? [chunk({ choices: [], usage })] : []),
    ...(done ? ["data: [DONE]\n\n"] : []),
  ].join("");
}

export async function startUpstream() {
  let steps = [];
  let calls = [];
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      const step = steps[Math.min(calls.length, steps.length - 1)] ?? {};
      calls.push({ path: request.url, headers: visibleHeaders(request.headers), body });
      answer(step, body, response);
    });
  });
  server.keepAliveTimeout = 600_000;
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    script(next) {
      steps = next;
      calls = [];
    },
    take: () => calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Headers that say something about the gateway; those of the connection differ by nature. */
function visibleHeaders({ host: _host, "content-length": _length, ...headers }) {
  return headers;
}

/** A step: `{status, headers, body}`, `{stream, cutAt, reset}` with a function from the model to a text, `{reset: true}`. */
function answer(step, body, response) {
  let model = "unknown";
  let streams = false;
  try {
    ({ model, stream: streams } = JSON.parse(body));
  } catch {}
  if (step.reset && step.stream === undefined) return response.socket.destroy();
  if (step.status !== undefined || step.body !== undefined) {
    response.writeHead(step.status ?? 200, { "content-type": "application/json", ...step.headers });
    return response.end(step.body ?? JSON.stringify({ error: { message: "scripted", code: step.status } }));
  }
  if (!streams) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(completion(model, step.message));
  }
  const text = Buffer.from(step.stream?.(model) ?? eventStream(model, [{ role: "assistant", content: "ok" }]));
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (step.splitAt !== undefined) {
    response.write(text.subarray(0, step.splitAt));
    return setTimeout(() => response.end(text.subarray(step.splitAt)), 2);
  }
  if (step.cutAt === undefined) return response.end(text);
  response.write(text.subarray(0, step.cutAt), () => response.socket.destroySoon());
}
