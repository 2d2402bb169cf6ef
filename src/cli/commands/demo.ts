import { type CommandSpec, httpUrl, wholeNumber } from "#cli/options.ts";
import { printText, type Result } from "#cli/output.ts";
import { unavailable } from "#operator/problem.ts";
import { type SampleRequest, sampleRequest } from "./sample-requests.ts";

const maxRequests = 10_000;
const timeoutMs = 30_000;
/** Requests that are under way at once. */
const maxConcurrent = 16;

export const commands: readonly CommandSpec[] = [
  {
    name: "demo traffic",
    summary: "send sample requests of every kind to a running gateway in demo mode, and to no other",
    options: [
      ["--url <url>", "the gateway; SMART_GATEWAY_URL, else http://127.0.0.1:PORT, when absent", httpUrl],
      ["--token <token>", "bearer token; any of 8 characters without AUTH_KEYS_FILE", undefined, "demo-traffic"],
      ["--requests <count>", `number of requests, at most ${maxRequests}`, wholeNumber(1, maxRequests), "90"],
      ["--per-second <count>", "requests to start per second", wholeNumber(1, 1_000), "5"],
    ],
    example: "smart-gateway demo traffic --requests 1000 --per-second 50",
    run: traffic,
  },
];

interface TrafficOptions {
  readonly json?: true;
  readonly url?: string;
  readonly token: string;
  readonly requests: number;
  readonly perSecond: number;
}

async function traffic(options: TrafficOptions): Promise<Result> {
  const { env } = process;
  const url = options.url ?? (env["SMART_GATEWAY_URL"] || `http://127.0.0.1:${env["PORT"] || "8080"}`);
  const base = url.replace(/(?<!\/)\/+$/, "");
  await checkDemo(base);
  if (!options.json) {
    printText(
      `DEMO: ${options.requests} sample requests to ${base}, in the session \`demo-traffic\`. A simulator answers them.
No language model is asked, and no money is spent: the amounts are those of the simulator.
Watch them: ${base}/dashboard`,
    );
  }
  return { value: { ok: true, sent: options.requests, statuses: await sendAll(base, options) } };
}

/** Sample requests cost money at a gateway that is not in demo mode. */
async function checkDemo(base: string): Promise<void> {
  const start = "Start one in demo mode (npm start without settings), or name it with --url.";
  const signal = AbortSignal.timeout(timeoutMs);
  const reply = await fetch(`${base}/livez`, { signal, redirect: "manual" }).catch(() => {
    throw unavailable(`No gateway answers at ${base}. ${start}`);
  });
  await reply.body?.cancel();
  if (isDemo(reply)) return;
  throw unavailable(`The gateway at ${base} is not in demo mode: sample requests would cost money there. ${start}`);
}

function isDemo(reply: Response): boolean {
  return reply.headers.get("x-smart-gateway-demo") === "true";
}

/** Answers by status; `failed` where there was none. */
async function sendAll(base: string, { requests, perSecond, token }: TrafficOptions) {
  const statuses: Record<string, number> = {};
  const startedMs = performance.now();
  let next = 0;
  const sendNext = async (): Promise<void> => {
    while (next < requests) {
      const n = next++;
      await Bun.sleep(Math.max(0, startedMs + (n * 1_000) / perSecond - performance.now()));
      const reply = await send(base, sampleRequest(n), token).catch(() => undefined);
      // The gateway may have been restarted with a real upstream: each answer has to say that it is a demo.
      if (reply !== undefined && !isDemo(reply)) {
        next = requests;
        throw unavailable(`Stopped: the gateway at ${base} has left demo mode.`);
      }
      const status = reply?.status ?? "failed";
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: maxConcurrent }, sendNext));
  return statuses;
}

/** Sends one and reads its answer to the end. */
async function send(base: string, { body, headers }: SampleRequest, token: string): Promise<Response> {
  const reply = await fetch(`${base}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "smart-gateway demo traffic",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  await reply.bytes();
  return reply;
}
