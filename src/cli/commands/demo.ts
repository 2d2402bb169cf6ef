import type { Command } from "commander";
import { wholeNumber } from "#cli/options.ts";
import { badUsage, exitCodes, failed, type OutputOptions, print, printText } from "#cli/output.ts";
import { type SampleRequest, sampleRequest } from "./sample-requests.ts";

interface TrafficOptions extends OutputOptions {
  readonly url?: string;
  readonly token: string;
  readonly requests: number;
  readonly perSecond: number;
}

const maxRequests = 10_000;
const timeoutMs = 30_000;
/** Requests that are under way at once. */
const maxConcurrent = 16;

/** `smart-gateway demo`: commands that show a gateway in demo mode at work. */
export function setUpDemo(command: Command): void {
  command
    .command("traffic")
    .description("send sample requests of every kind to a running gateway in demo mode, and to no other")
    .option("--url <url>", "the gateway; SMART_GATEWAY_URL, else http://127.0.0.1:PORT, when absent")
    .option("--token <token>", "bearer token; any of 8 characters without AUTH_KEYS_FILE", "demo-traffic")
    .option("--requests <count>", `number of requests, at most ${maxRequests}`, wholeNumber(1, maxRequests), 90)
    .option("--per-second <count>", "requests to start per second", wholeNumber(1, 1_000), 5)
    .addHelpText("after", "\nExample: smart-gateway demo traffic --requests 1000 --per-second 50")
    .action(traffic);
}

async function traffic(options: TrafficOptions): Promise<void> {
  const { env } = process;
  const url = options.url ?? (env["SMART_GATEWAY_URL"] || `http://127.0.0.1:${env["PORT"] || "8080"}`);
  const base = url.replace(/\/+$/, "");
  await checkDemo(base);
  if (!options.json) {
    printText(
      `DEMO: ${options.requests} sample requests to ${base}, in the session \`demo-traffic\`. A simulator answers them.
No language model is asked, and no money is spent: the amounts are those of the simulator.
Watch them: ${base}/dashboard`,
    );
  }
  const sent = await sendAll(base, options);
  print({ ok: sent.stopped === undefined, ...sent }, options);
  if (sent.stopped !== undefined) process.exitCode = exitCodes.failed;
}

/** Sample requests cost money at a gateway that is not in demo mode. */
async function checkDemo(base: string): Promise<void> {
  const url = URL.parse(`${base}/livez`);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw badUsage(`--url must be an http:// or https:// URL; is ${JSON.stringify(base)}`);
  }
  const reply = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: "manual" }).catch(() => {
    throw failed(
      `No gateway answers at ${base}. Start one in demo mode (npm start without settings), or name it with --url.`,
    );
  });
  await reply.body?.cancel();
  if (!isDemo(reply)) {
    throw failed(
      `The gateway at ${base} is not in demo mode: sample requests would cost money there. Start one without UPSTREAM_API_KEY and UPSTREAM_BASE_URL.`,
    );
  }
}

function isDemo(reply: Response): boolean {
  return reply.headers.get("x-smart-gateway-demo") === "true";
}

interface Sent {
  sent: number;
  /** Answers by status; `left` where the caller left before one, `failed` where there was none. */
  readonly statuses: Record<string, number>;
  readonly shown: Record<string, number>;
  /** Why no more were sent. */
  stopped?: string;
}

async function sendAll(base: string, { requests, perSecond, token }: TrafficOptions): Promise<Sent> {
  const sent: Sent = { sent: 0, statuses: {}, shown: {} };
  const count = (counts: Record<string, number>, name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const underWay = new Set<Promise<void>>();
  const startedMs = performance.now();
  for (let n = 0; n < requests && sent.stopped === undefined; n += 1) {
    await Bun.sleep(Math.max(0, startedMs + (n * 1_000) / perSecond - performance.now()));
    while (underWay.size >= maxConcurrent) await Promise.race(underWay);
    const request = sampleRequest(n);
    const work = send(base, request, token).then((status) => {
      underWay.delete(work);
      if (status === undefined) sent.stopped = `Stopped: the gateway at ${base} has left demo mode.`;
      else {
        sent.sent += 1;
        count(sent.statuses, status);
        count(sent.shown, request.shows);
      }
    });
    underWay.add(work);
  }
  await Promise.all(underWay);
  return sent;
}

/** Sends one and reads its answer to the end; undefined where the gateway is no demo any more. */
async function send(base: string, request: SampleRequest, token: string): Promise<string | undefined> {
  const { body, headers, disconnectAfterMs, unauthorized } = request;
  try {
    const reply = await fetch(`${base}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "smart-gateway demo traffic",
        ...(unauthorized === true ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(disconnectAfterMs ?? timeoutMs),
    });
    // The gateway may have been restarted with a real upstream: each answer has to say that it is a demo.
    if (!isDemo(reply)) return undefined;
    await reply.bytes();
    return String(reply.status);
  } catch {
    return disconnectAfterMs === undefined ? "failed" : "left";
  }
}
