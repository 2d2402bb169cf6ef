import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "#platform/testing/seeded-random.ts";

/** The requests of one connection of the load generator. The same seed gives the same requests. */
export interface Workload {
  /** Credentials that a gateway redacts in each request. */
  readonly redactions: number;
  /** The endpoint, below `/v1`; `/chat/completions` where absent. */
  readonly path?: string;
  /** The bodies of one connection, in order. */
  bodies(seed: string, connection: number): Generator<string, never>;
}

let seeds = 0;
const run = `${process.pid}-${Date.now()}`;

/** A seed that no other call has returned, in this run of a bench or another: its requests are new to the gateway. */
export function newSeed(): string {
  return `${run}-${seeds++}`;
}

const root = join(import.meta.dir, "../..");

let sourceLines: readonly string[] | undefined;

/** This repository's own source in lines of ASCII: the text that coding agents send. Without the detection of credentials,
 * which contains examples of them, and without the marker that sends a request to pro. */
function source(): readonly string[] {
  sourceLines ??= ["assess", "decide", "execute", "respond", "settle"]
    .flatMap((folder) =>
      [...new Bun.Glob("**/*.ts").scanSync(join(root, "src/pipeline", folder))]
        .sort()
        .map((file) => join(root, "src/pipeline", folder, file)),
    )
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => readFileSync(file, "utf8").split("\n"))
    .filter((line) => /^[\x00-\x7f]*$/.test(line) && !line.includes("[reasoning"));
  return sourceLines;
}

/** A piece of source, as an agent's reading tool returns it. The first line differs in every piece. */
function fileText(bytes: number, random: () => number): string {
  const lines = source();
  const first = Math.floor(random() * lines.length);
  let text = `part ${Math.floor(random() * 1e9)}\n`;
  for (let line = 0; text.length < bytes; line++) text += `${line + 1}\t${lines[(first + line) % lines.length]}\n`;
  return text.slice(0, bytes);
}

const system = { role: "system", content: "You are a careful programmer. ".repeat(12) };
const ask = "Rename the function parseDate to parseIsoDate and say where it is used. ";

function chat(messages: readonly object[], streamed: boolean, maxTokens = 256): string {
  return JSON.stringify({ model: "smart-router-flash", stream: streamed, messages, max_tokens: maxTokens });
}

function* repeated(body: string): Generator<string, never> {
  for (;;) yield body;
}

const small = (streamed: boolean, maxTokens?: number) =>
  chat([system, { role: "user", content: ask.repeat(4) }], streamed, maxTokens);

const dryRun = JSON.stringify({
  task: { task_id: "bench", instruction: ask.repeat(4), kind: "CODING", risk_level: "LOW" },
});

/** Like `small`, but each request begins another conversation. */
function* newConversations(seed: string): Generator<string, never> {
  for (let count = 1; ; count++)
    yield chat([system, { role: "user", content: `${seed}/${count}: ${ask.repeat(4)}` }], false);
}

/** Each request has text that no earlier one had. */
function* newText(seed: string, bytes: number, end: string): Generator<string, never> {
  const random = seededRandom(Number(Bun.hash.crc32(seed)));
  for (;;) yield chat([system, { role: "user", content: `${ask}\n${fileText(bytes, random)}${end}` }], false);
}

const tools = ["read_file", "edit_file", "run_command", "search", "list_directory"].map((name) => ({
  type: "function",
  function: {
    name,
    description: `Does what the name ${name} says, in the working directory of the user. `.repeat(12),
    parameters: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } } },
  },
}));

const turnBytes = 4_000;

/**
 * A coding agent's conversation: system prompt, tools, ask, then a tool call and its result per turn. Each request sends all
 * of it again, with one more turn. With 340 KB in the first request it is 460 KB 30 turns later, 400 KB on average.
 */
function* agentTurns(seed: string, secret: string | undefined, firstBytes = 340_000): Generator<string, never> {
  const random = seededRandom(Number(Bun.hash.crc32(seed)));
  const prompt = { role: "system", content: `You are a coding agent.\n${fileText(12_000, random)}` };
  let messages = `${JSON.stringify(prompt)},${JSON.stringify({ role: "user", content: ask.repeat(4) })}`;
  const begin = '{"model":"smart-router-flash","stream":false,"max_tokens":256';
  const toolsText = JSON.stringify(tools);
  for (let turn = 1; ; turn++) {
    const id = `call_${turn}`;
    const call = { name: "read_file", arguments: JSON.stringify({ path: `src/part-${turn}.ts` }) };
    const leaked = turn === 10 && secret !== undefined ? `${secret}\n` : "";
    messages += `,${JSON.stringify({ role: "assistant", content: "I read the next file.", tool_calls: [{ id, type: "function", function: call }] })}`;
    messages += `,${JSON.stringify({ role: "tool", tool_call_id: id, content: `${fileText(turnBytes, random)}${leaked}` })}`;
    if (messages.length >= firstBytes) yield `${begin},"tools":${toolsText},"messages":[${messages}]}`;
  }
}

/** One conversation after the other, each of 15 turns of 30 to 90 KB: as many turns as one likes, for a tenth of the time. */
function* shortAgentTurns(seed: string): Generator<string, never> {
  for (let conversation = 0; ; conversation++) {
    const turns = agentTurns(`${seed}/${conversation}`, undefined, 30_000);
    for (let turn = 0; turn < 15; turn++) yield turns.next().value;
  }
}

/** Assembled from parts, so that a scan of this file does not find it. */
const secret = `AWS_SECRET_ACCESS_KEY=${["wJalrXUtnFEMI", "K7MDENG", "bPxRfiCYq9Lk2Vt4Zs8w"].join("/")}`;

export const workloads: { readonly [name: string]: Workload } = {
  answers: { redactions: 0, bodies: () => repeated(small(false)) },
  "dry-run": { redactions: 0, path: "/route/decision", bodies: () => repeated(dryRun) },
  streams: { redactions: 0, bodies: () => repeated(small(true)) },
  /** Streams that the upstream sends without pauses where it paces others. */
  "streams-at-once": { redactions: 0, bodies: () => repeated(small(true, 1)) },
  conversations: { redactions: 0, bodies: (seed, of) => newConversations(`${seed}/${of}`) },
  "new-text": { redactions: 0, bodies: (seed, of) => newText(`${seed}/${of}`, 100_000, "") },
  "large-text": { redactions: 0, bodies: (seed, of) => newText(`${seed}/${of}`, 200_000, "") },
  secrets: { redactions: 1, bodies: (seed, of) => newText(`${seed}/${of}`, 4_000, `\n${secret}\n`) },
  "em-dash": { redactions: 0, bodies: (seed, of) => newText(`${seed}/${of}`, 100_000, " \u2014") },
  agent: { redactions: 0, bodies: (seed, of) => agentTurns(`${seed}/${of}`, undefined) },
  "short-agent": { redactions: 0, bodies: (seed, of) => shortAgentTurns(`${seed}/${of}`) },
  "agent-secret": { redactions: 1, bodies: (seed, of) => agentTurns(`${seed}/${of}`, secret) },
};
