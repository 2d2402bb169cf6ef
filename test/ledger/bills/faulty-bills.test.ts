import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { JsonObject } from "#domain/chat.ts";
import { nanoUsd } from "#domain/money/money.ts";
import type { Behaviour, SimulatedExchange } from "#simulator/simulated-exchange.ts";
import { authorization, call, start } from "../../harness/gateway.ts";

/**
 * Random faults of an upstream that keeps its own bill, in every form that an answer can take: what it has billed is spent or held,
 * and no goal passes its cap. `BILLS_SEED` repeats a run, `BILLS_CALLS` makes it longer.
 */
let seed = Number(process.env["BILLS_SEED"] || Date.now() % 1_000_000_000);
const firstSeed = seed;
const calls = Number(process.env["BILLS_CALLS"] || 400);
function random(): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
}
const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T; // the lists are not empty

/** Nano-USD a token, as shipped. */
const prices: { readonly [id: string]: readonly [input: number, output: number] } = {
  "deepseek/deepseek-v4-flash": [140, 280],
  "deepseek/deepseek-v4-pro": [435, 870],
  "google/gemini-2.5-flash": [300, 2_500],
};
const goalCap = 30_000_000;

interface Call {
  readonly exchange: SimulatedExchange;
  readonly model: string;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly cost: number;
}

function callOf(exchange: SimulatedExchange): Call {
  const { body = {} } = exchange.request;
  const model = String(body["model"]);
  const [inputPrice, outputPrice] = prices[model] ?? [0, 0];
  const input = 1 + Math.floor(random() * JSON.stringify(body["messages"]).length);
  const output = Math.floor(random() ** 0.4 * Number(body["max_tokens"]) * Number(body["n"] ?? 1));
  const usage = { prompt_tokens: input, completion_tokens: output };
  return { exchange, model, usage, cost: input * inputPrice + output * outputPrice };
}

/** How an upstream states what a call has cost, or does not. */
const statements: readonly ((call: Call) => JsonObject | null | undefined)[] = [
  ({ usage, cost }) => ({ ...usage, cost: cost / 1e9 }),
  ({ usage }) => ({ ...usage }),
  ({ usage, cost }) => ({ ...usage, cost: (cost / 1e9).toFixed(12) }),
  ({ cost }) => ({ cost: cost / 1e9 }),
  ({ usage, cost }) => ({
    ...usage,
    cost: 0.000_000_001,
    is_byok: true,
    cost_details: { upstream_inference_cost: cost / 1e9 },
  }),
  () => undefined,
  () => null,
  () => ({ prompt_tokens: 0, completion_tokens: 0 }),
  ({ usage }) => ({ ...usage, cost: -1 }),
  ({ usage }) => ({ ...usage, cost: "NaN" }),
];

const unbilled = [400, 401, 402, 403, 404, 413, 422, 429];
const billed = [408, 409, 418, 425, 451, 500, 502, 503, 529];
const error = (code: number) => ({ error: { code, message: "scripted" } });
const head = (lines: string) => `HTTP/1.1 200 OK\r\n${lines}\r\n`;
const whole = (call: Call, more: JsonObject = {}) => {
  const usage = oneOf(statements)(call);
  const choices = [{ index: 0, message: { role: "assistant", content: "answer" }, finish_reason: "stop" }];
  return JSON.stringify({
    id: "gen-1",
    model: call.model,
    choices,
    ...(usage === undefined ? {} : { usage }),
    ...more,
  });
};
const length = (text: string | Uint8Array) => `Content-Length: ${Buffer.byteLength(text)}\r\n`;

/** Each answers one call; what it bills it has billed before. */
const wholeFaults: readonly ((call: Call) => Promise<void> | void)[] = [
  async (c) => sendWhole(c, whole(c)),
  async (c) => sendWhole(c, whole(c, error(429))),
  async (c) => sendWhole(c, whole(c, { choices: [{ index: 0, message: { content: "half" }, ...error(400) }] })),
  async (c) => sendWhole(c, JSON.stringify(error(500))),
  async (c) => sendWhole(c, "<html>"),
  async (c) => {
    const packed = gzipSync(whole(c));
    await c.exchange.raw(Buffer.concat([Buffer.from(head(`Content-Encoding: gzip\r\n${length(packed)}`)), packed]));
    c.exchange.cut("fin");
  },
  async (c) => c.exchange.raw(`${head("Content-Length: 500\r\n")}${whole(c).slice(0, 40)}`).then(() => cut(c)),
  async (c) => c.exchange.raw(`${head("Transfer-Encoding: chunked\r\n")}zz\r\n`).then(() => cut(c)),
  async (c) => c.exchange.raw(`HTTP/1.1 103 Early Hints\r\n\r\n${head(length("{}"))}{}`).then(() => cut(c)),
  cut,
];
/** `last`: the usage of the event with the finish reason, where every event has one. */
const streamEnds: readonly ((
  call: Call,
  event: (value: JsonObject) => Promise<void>,
  last: JsonObject,
) => Promise<void> | void)[] = [
  async (c, event, last) => finish(c, event, last, "[DONE]"),
  async (c, event, last) => finish(c, event, last, ""),
  async (c, event) => event(error(oneOf([...unbilled, ...billed]))).then(() => cut(c)),
  async (c, event, last) => event({ choices: [choice({}, "stop")], ...last }).then(() => cut(c)),
  async (c) => c.exchange.part("data: {\n\n").then(() => cut(c)),
  cut,
];

function cut({ exchange }: Call): void {
  exchange.cut(oneOf(["fin", "rst"]));
}

async function sendWhole({ exchange }: Call, text: string): Promise<void> {
  await exchange.head(200, { "content-type": "application/json" }, "length", Buffer.byteLength(text));
  await exchange.part(text);
  await exchange.finish();
}

const choice = (delta: JsonObject, reason: string | null = null) => ({ index: 0, delta, finish_reason: reason });

async function finish(
  call: Call,
  event: (value: JsonObject) => Promise<void>,
  last: JsonObject,
  end: string,
): Promise<void> {
  const usage = oneOf(statements)(call);
  await event({ choices: [choice({}, "stop")], ...last });
  if (usage !== undefined) await event({ choices: [], usage });
  if (end !== "") await call.exchange.part(`data: ${end}\n\n`);
  await call.exchange.finish();
}

test(`what an upstream has billed is spent or held, whatever it answers (seed ${firstSeed})`, async () => {
  const bill = new Map<string, number>();
  const behaviour: Behaviour = async (exchange) => {
    const current = callOf(exchange);
    const goal = String(exchange.request.body?.["user"]);
    const roll = random();
    const status = roll < 0.1 ? oneOf(unbilled) : roll < 0.2 ? oneOf(billed) : 200;
    if (!unbilled.includes(status)) {
      bill.set(goal, (bill.get(goal) ?? 0) + current.cost);
      exchange.bill(nanoUsd(current.cost));
    }
    if (status !== 200) {
      const text = JSON.stringify(error(status));
      await exchange.head(status, { "content-type": "application/json" }, "length", text.length);
      await exchange.part(text);
      await exchange.finish();
      return;
    }
    if (exchange.request.body?.["stream"] !== true) return oneOf(wholeFaults)(current);
    if (roll < 0.3) return cut(current);
    await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
    const event = (value: JsonObject) => exchange.event({ id: "gen-1", model: current.model, ...value });
    const counts = random() < 0.4;
    const pieces = 1 + Math.floor(random() * 4);
    for (let piece = 1; piece <= pieces; piece++) {
      const part = Math.floor((current.usage.completion_tokens * piece) / (pieces + 1));
      const usage = counts ? { usage: { ...current.usage, completion_tokens: part } } : {};
      await event({ choices: [choice({ role: "assistant", content: "word " })], ...usage });
    }
    // Who counts along has counted all of it by the finish reason, whatever is stated behind it.
    return oneOf(streamEnds)(current, event, counts ? { usage: current.usage } : {});
  };
  const health = { failures_in_a_row: 100_000 };
  await using gateway = await start({
    policy: {
      budget: { per_goal_hard_usd: goalCap / 1e9, per_goal_soft_usd: goalCap / 1e9, per_day_hard_usd: 1_000 },
      health,
    },
    script: () => behaviour,
  });
  const goals = new Set<string>();
  // An upstream like this is out of service after a few answers, and would see no further call.
  const reset = async () => {
    for (const key of ["vendor_v4_flash", "vendor_v4_pro", "vendor_emergency"]) {
      const url = `${gateway.url}/dashboard/api/models/${key}/reset`;
      expect((await call(url, { method: "POST", headers: { "x-smart-gateway-csrf": "1" } })).status).toBe(200);
    }
  };
  const caller = async () => {
    for (let made = 0; made < calls / 8; made++) {
      if (made % 3 === 0) await reset();
      const goal = `goal-${Math.floor(random() * 6)}-${Math.floor(made / 15)}`;
      goals.add(goal);
      const stop = new AbortController();
      const leaves = random() < 0.15;
      try {
        const reply = await call(`${gateway.url}/v1/chat/completions`, {
          method: "POST",
          signal: stop.signal,
          headers: { ...authorization, "content-type": "application/json", "x-goal-id": goal },
          body: JSON.stringify({
            model: oneOf(["smart-router-flash", "smart-router-pro"]),
            messages: [{ role: "user", content: "word ".repeat(1 + Math.floor(random() * 20)) }],
            max_tokens: 1 + Math.floor(random() * 5_000),
            ...(random() < 0.1 ? { n: 2 } : {}),
            stream: random() < 0.6,
            user: goal,
          }),
        });
        if (leaves) await reply.body?.getReader().read();
        else await reply.text();
        stop.abort();
      } catch {
        // The caller's own abort, or a cut of the gateway's answer: the bill counts.
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  const { ledger } = gateway.gateway.ports;
  const short: string[] = [];
  for (const goal of goals) {
    const spend = await ledger.read(goal);
    const { spent, held } = spend?.goalAccount ?? { spent: 0, held: 0 };
    if (spent + held < (bill.get(goal) ?? 0))
      short.push(`${goal}: billed ${bill.get(goal)}, spent ${spent}, held ${held}`);
    if (spent + held > goalCap) short.push(`${goal}: ${spent} and ${held} are above the cap`);
  }
  expect(short).toEqual([]);
  expect([...bill.values()].filter((amount) => amount > 0).length).toBeGreaterThan(12);
}, 60_000);
