/**
 * The largest bodies that a caller or an upstream can send, each kind with a new gateway process: how long do other requests
 * wait, and how much memory is used?
 *
 * `bun bench/large-bodies.ts [--only name] [--megabytes 15.5]`
 *
 * A separate process requests `/livez` every few milliseconds; `stall` is the longest wait for an answer. `control` is the
 * longest wait for a server that does nothing, at the same time: the delay of the machine itself. `peak` is the largest
 * resident size (VmHWM, Linux).
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { serve } from "../test/harness/process.ts";
import { writePolicy } from "./support/servers.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    megabytes: { type: "string", default: "15.5" },
    probe: { type: "string", multiple: true },
  },
});

const everyMs = 5;

/** Asks each address again and again until standard input ends, then prints the longest wait for each, in milliseconds. */
async function probe(urls: readonly string[]): Promise<void> {
  let over = false;
  const longest = urls.map(() => 0);
  const asking = urls.map(async (url, index) => {
    while (!over) {
      const begunMs = performance.now();
      await fetch(url).then((response) => response.text());
      longest[index] = Math.max(longest[index] ?? 0, performance.now() - begunMs);
      await Bun.sleep(everyMs);
    }
  });
  console.log("ready");
  await Bun.stdin.text();
  over = true;
  await Promise.all(asking);
  console.log(JSON.stringify(longest));
}

if (options.probe !== undefined) {
  await probe(options.probe);
  process.exit(0);
}

const size = Math.round(Number(options.megabytes) * 1_048_576);
const filled = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
const prose = "The quick brown fox jumps over the lazy dog; then it rests for 3 hours.\\n";
const chat = (content: string) => `{"model":"smart-router-flash","messages":[{"role":"user","content":"${content}"}]}`;
const withField = (json: string) => `${chat("hello").slice(0, -1)},"unknown":${json}}`;
const dryRun = (instruction: string) => `{"task":{"task_id":"t","instruction":"${instruction}"}}`;
const messages = (count: number, content: string) =>
  `{"model":"smart-router-flash","messages":[${Array.from({ length: count }, () => `{"role":"user","content":"${content}"}`).join(",")}]}`;
const streamAsked = () => withField("0").replace('"unknown":0', '"stream":true');
const events = (content: string) =>
  `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
const parts = (count: number, text: string) =>
  `{"model":"smart-router-flash","messages":[{"role":"user","content":[${Array.from({ length: count }, () => `{"type":"text","text":"${text}"}`).join(",")}]}]}`;
const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const toolCall = (argument: string) =>
  JSON.stringify({
    model: "smart-router-flash",
    messages: [
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ a: argument }) } },
        ],
      },
      { role: "tool", tool_call_id: "c", content: "ok" },
    ],
  });

interface Case {
  readonly name: string;
  readonly path?: string;
  readonly body: () => string;
  /** Requests sent at once. */
  readonly times?: number;
  /** What the upstream answers; a short completion when absent. */
  readonly answer?: () => string;
  /** The upstream's answer is one event of a stream. */
  readonly streamed?: true;
}

const decision = "/v1/route/decision";
const cases: readonly Case[] = [
  { name: "one body of text", body: () => chat(filled(prose, size)) },
  { name: "empty objects in an unknown field", body: () => withField(`[${filled("{},", size)}0]`) },
  { name: "numbers in an unknown field", body: () => withField(`[${filled("1,", size)}0]`) },
  { name: "keys", body: () => withField(`{${Array.from({ length: size / 14 }, (_, i) => `"k${i}":0`).join(",")}}`) },
  { name: "combining marks", body: () => chat(filled("\u0301", size)) },
  { name: "escaped quotes", body: () => chat(filled('\\"', size)) },
  { name: "escaped quotes in messages", body: () => messages(size / 2_048, filled('\\"', 2_000)) },
  { name: "text beyond Latin-1", body: () => chat(filled("Привет, мир; ", size)) },
  { name: "arguments of a tool call", body: () => toolCall(`${token} ${filled('"', size / 4)}`) },
  { name: "beginnings of keys", body: () => chat(filled("sk-or-v1-", size)) },
  { name: "one long number", body: () => withField(filled("7", size)) },
  { name: "white space", body: () => chat("hello") + filled(" ", size) },
  { name: "base64", body: () => chat(filled("c2V0dGluZyA9IDE7", size)) },
  { name: "names of secrets", body: () => chat(filled("password = x7Gk2mQ9vB4n; ", size)) },
  { name: "messages of 2 KB", body: () => messages(size / 2_048, filled(prose, 2_000)) },
  { name: "text parts of 5 KB", body: () => parts(size / 5_120, filled(prose, 5_000)) },
  { name: "a dry run", path: decision, body: () => dryRun(filled(prose, size)) },
  { name: "8 dry runs", path: decision, body: () => dryRun(filled(prose, size)), times: 8 },
  { name: "20 dry runs", path: decision, body: () => dryRun(filled(prose, size)), times: 20 },
  { name: "20 bodies of text", body: () => chat(filled(prose, size)), times: 20 },
  { name: "20 bodies of marks", body: () => chat(filled("\u0301", size)), times: 20 },
  { name: "20 bodies of messages", body: () => messages(size / 2_048, filled(prose, 2_000)), times: 20 },
  { name: "200 bodies of 1 MB", body: () => chat(filled(prose, 1_000_000)), times: 200 },
  { name: "an answer of empty arrays", body: () => chat("hello"), answer: () => `{"x":[${filled("[],", 2 * size)}0]}` },
  {
    name: "an answer of escaped quotes",
    body: () => chat("hello"),
    answer: () => completion.replace("ok", filled('\\"', 2 * size)),
  },
  {
    name: "an event of empty arrays",
    body: streamAsked,
    answer: () => `data: {"choices":[${filled("[],", size)}0]}\n\n`,
    streamed: true,
  },
  { name: "an event of escaped quotes", body: streamAsked, answer: () => events(filled('\\"', size)), streamed: true },
  {
    name: "an event of base64",
    body: streamAsked,
    answer: () => events(filled("c2V0dGluZyA9IDE7", size)),
    streamed: true,
  },
  {
    name: "an event of an image",
    body: streamAsked,
    answer: () => events("ok").replace('"content":"ok"', `"images":[{"url":"${filled("c2V0dGluZyA9IDE7", size)}"}]`),
    streamed: true,
  },
];

/** Sends a request as it is and reads the status; 0 when the connection ended without one. */
function post(url: string, path: string, body: Buffer): Promise<number> {
  const { hostname, port } = new URL(url);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    "Authorization: Bearer bench-token-0123456789",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      socket.write(body);
    });
    const status = () => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0));
    socket.on("data", (data) => {
      if (text.length < 64) text += data.toString("latin1");
      // A refusal is sent before the body is read; the rest need not be sent.
      if (!text.startsWith("HTTP/1.1 200")) {
        status();
        socket.destroy();
      }
    });
    socket.on("error", status);
    socket.on("close", status);
  });
}

const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
const policy = await writePolicy(scratch);
const completion =
  '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":0.0000001}}';
let answer = Buffer.from(completion);
let answerType = "application/json";
const upstream = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    for await (const _ of request.body ?? []);
    return new Response(answer, { headers: { "content-type": answerType } });
  },
});
const idle = Bun.spawn(
  [
    process.execPath,
    "-e",
    "const s = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('') }); console.log(s.url.href)",
  ],
  { stdout: "pipe" },
);
const control = new TextDecoder().decode((await idle.stdout.getReader().read()).value).trim();

function peakMegabytes(pid: number): number {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024);
}

console.log(`${"".padEnd(36)} stall ms  control ms  peak MB  total ms  statuses`);
for (const { name, path = "/v1/chat/completions", body, times = 1, answer: given, streamed } of cases) {
  if (options.only !== undefined && !name.includes(options.only)) continue;
  answer = Buffer.from(given?.() ?? completion);
  answerType = streamed === true ? "text/event-stream" : "application/json";
  const bytes = Buffer.from(body());
  await using gateway = await serve({
    UPSTREAM_BASE_URL: `http://127.0.0.1:${upstream.port}/v1`,
    UPSTREAM_API_KEY: "bench-upstream-key",
    ROUTING_POLICY_PATH: policy,
  });
  const prober = Bun.spawn(
    [process.execPath, import.meta.path, "--probe", `${gateway.url}/livez`, "--probe", control],
    { stdin: "pipe", stdout: "pipe" },
  );
  const lines = prober.stdout.getReader();
  await lines.read();
  await Bun.sleep(300);
  const begunMs = performance.now();
  const statuses = await Promise.all(Array.from({ length: times }, () => post(gateway.url, path, bytes)));
  const totalMs = performance.now() - begunMs;
  await Bun.sleep(100);
  prober.stdin.end();
  const [stall = 0, controlStall = 0]: number[] = JSON.parse(new TextDecoder().decode((await lines.read()).value));
  const counts = Object.entries(Object.groupBy(statuses, String)).map(([status, all]) => `${status} × ${all?.length}`);
  const figures = [
    stall.toFixed(0).padStart(8),
    controlStall.toFixed(0).padStart(11),
    String(peakMegabytes(gateway.child.pid)).padStart(8),
    totalMs.toFixed(0).padStart(9),
  ];
  console.log(`${name.padEnd(36)} ${figures.join(" ")}  ${counts.join(", ")}`);
}
idle.kill();
rmSync(scratch, { recursive: true, force: true });
await upstream.stop(true);
