import { Command, InvalidArgumentError } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { progressBar } from "#cli/progress.ts";
import { type SampleRequest, sampleRequest } from "./sample-requests.ts";

interface TrafficOptions {
  readonly url?: string;
  readonly token: string;
  readonly requests: number;
  readonly perSecond: number;
  readonly json?: true;
}

const demoHeader = "x-smart-gateway-demo";
const maxRequests = 10_000;
const timeoutMs = 30_000;
/** Requests that are under way at once. */
const maxConcurrent = 16;

/** `smart-gateway demo`: commands that show a gateway in demo mode at work. */
export function demoCommand(): Command {
  const command = new Command("demo").description("show a gateway in demo mode at work");
  command
    .command("traffic")
    .description("send sample requests of every kind to a running gateway in demo mode, and to no other")
    .option("--url <url>", "the gateway; SMART_GATEWAY_URL, else http://127.0.0.1:PORT, when absent")
    .option("--token <token>", "bearer token; any of 8 characters without AUTH_KEYS_FILE", "demo-traffic")
    .option("--requests <count>", `number of requests, at most ${maxRequests}`, wholeUpTo(maxRequests), 90)
    .option("--per-second <count>", "requests to start per second", wholeUpTo(1_000), 5)
    .option("--json", "print {ok, sent, statuses, shown}")
    .action(traffic);
  return command;
}

async function traffic(options: TrafficOptions): Promise<void> {
  const { env } = process;
  const base = (options.url ?? (env["SMART_GATEWAY_URL"] || `http://127.0.0.1:${env["PORT"] || "8080"}`)).replace(
    /\/+$/,
    "",
  );
  const problem = await demoProblem(base);
  if (problem !== undefined) {
    if (options.json) printJson({ ok: false, problem });
    else console.error(problem);
    return exitWith(exitCodes.failed);
  }
  const { requests } = options;
  if (!options.json) {
    print(`DEMO: ${requests} sample requests to ${base}, in the session \`demo-traffic\`. A simulator answers them.`);
    print("No language model is asked, and no money is spent: the amounts are those of the simulator.");
    print(`Watch them: ${base}/dashboard`);
  }
  const progress = progressBar("demo traffic", requests);
  const sent = await sendAll(base, options, (done) => progress.at(done));
  progress.end();
  if (options.json) printJson({ ok: sent.stopped === undefined, ...sent });
  else {
    const statuses = Object.entries(sent.statuses).map(([status, count]) => `${count} × ${status}`);
    print(`${sent.sent} sent: ${statuses.join(", ")}.`);
    if (sent.stopped !== undefined) console.error(sent.stopped);
  }
  if (sent.stopped !== undefined) exitWith(exitCodes.failed);
}

/** Why sample requests must not be sent to this gateway; undefined for one in demo mode. */
async function demoProblem(base: string): Promise<string | undefined> {
  const url = URL.parse(`${base}/livez`);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    return `--url must be an http:// or https:// URL; is ${JSON.stringify(base)}`;
  }
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: "manual" });
    await reply.body?.cancel();
    if (isDemo(reply)) return undefined;
  } catch {
    return `No gateway answers at ${base}. Start one in demo mode (npm start without settings), or name it with --url.`;
  }
  return `The gateway at ${base} is not in demo mode: sample requests would cost money there. Start one without UPSTREAM_API_KEY and UPSTREAM_BASE_URL.`;
}

function isDemo(reply: Response): boolean {
  return reply.headers.get(demoHeader) === "true";
}

interface Sent {
  sent: number;
  /** Answers by status; `left` where the caller left before one, `failed` where there was none. */
  readonly statuses: Record<string, number>;
  readonly shown: Record<string, number>;
  /** Why no more were sent. */
  stopped?: string;
}

async function sendAll(base: string, { requests, perSecond, token }: TrafficOptions, onSent: (done: number) => void) {
  const sent: Sent = { sent: 0, statuses: {}, shown: {} };
  const underWay = new Set<Promise<void>>();
  const startedMs = performance.now();
  for (let n = 0; n < requests && sent.stopped === undefined; n += 1) {
    const waitMs = startedMs + (n * 1_000) / perSecond - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    while (underWay.size >= maxConcurrent) await Promise.race(underWay);
    const request = sampleRequest(n);
    const work = send(base, request, token).then((status) => {
      underWay.delete(work);
      if (status === "no demo") {
        sent.stopped = `Stopped: the gateway at ${base} has left demo mode.`;
        return;
      }
      sent.sent += 1;
      sent.statuses[status] = (sent.statuses[status] ?? 0) + 1;
      sent.shown[request.shows] = (sent.shown[request.shows] ?? 0) + 1;
      onSent(sent.sent);
    });
    underWay.add(work);
  }
  await Promise.all(underWay);
  return sent;
}

/** Sends one and reads its answer to the end. */
async function send(base: string, request: SampleRequest, token: string): Promise<string> {
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
    if (!isDemo(reply)) return "no demo";
    await reply.bytes();
    return String(reply.status);
  } catch {
    return disconnectAfterMs === undefined ? "failed" : "left";
  }
}

function wholeUpTo(most: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < 1 || value > most)
      throw new InvalidArgumentError(`a whole number from 1 to ${most}`);
    return value;
  };
}
