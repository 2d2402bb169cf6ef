import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Model } from "#domain/model.ts";
import { costOf } from "#domain/money/tokens.ts";

/**
 * An aggregator with its own bill and with faults: it bills and then resets, fails after billing, omits usage, streams and
 * breaks off. It bills like real ones: by tokens, never more than was requested, also when the caller has disconnected.
 */
export interface BillingUpstream {
  readonly url: string;
  /** Billed nano-USD, by the `user` field of the requests: their goal. */
  readonly bill: ReadonlyMap<string, number>;
  readonly calls: () => number;
  close(): Promise<void>;
}

export async function billingUpstream(models: readonly Model[], random: () => number): Promise<BillingUpstream> {
  const bill = new Map<string, number>();
  let calls = 0;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += chunk;
    calls += 1;
    const body = JSON.parse(text);
    const model = models.find(({ upstreamId }) => upstreamId === body.model);
    if (model === undefined) throw new Error(`not a model of ours: ${body.model}`);
    const fail = (status: number) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: status, message: "scripted" } }));
    };
    const roll = random();
    if (roll < 0.08) return fail(429);
    if (roll < 0.1) return fail(400);
    // A token is at least one byte of the request, and an answer has at most the allowed tokens.
    const bytes = JSON.stringify(body.messages).length;
    const input = 1 + Math.floor(random() * bytes);
    const output = Math.floor(random() ** 0.5 * (body.max_tokens + 1));
    const cost = costOf({ input, cachedInput: 0, output, reasoning: 0 }, model.price);
    const charge = () => bill.set(body.user, (bill.get(body.user) ?? 0) + cost);
    await pause(random() * 40);
    charge();
    if (roll < 0.17) return void request.socket.destroy();
    if (roll < 0.22) return fail(500);
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      ...(random() < 0.6 ? { cost: cost / 1e9 } : {}),
    };
    const reported = random() < 0.9 ? { usage } : {};
    const head = { id: "gen", created: 1, model: body.model };
    if (body.stream !== true) {
      const choices = [{ index: 0, message: { role: "assistant", content: "scripted" }, finish_reason: "stop" }];
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...head, object: "chat.completion", choices, ...reported }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (data: object) =>
      response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...data })}\n\n`);
    for (let i = 0; i < 4; i++) {
      send({ choices: [{ index: 0, delta: { role: "assistant", content: "scripted " }, finish_reason: null }] });
      await pause(random() * 20);
      if (random() < 0.03) return void request.socket.destroy();
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    send({ choices: [], ...reported });
    response.end("data: [DONE]\n\n");
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("the upstream has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    bill,
    calls: () => calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
