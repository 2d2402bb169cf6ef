/**
 * Where routing sends the calls of recorded agents' runs, which runs meet the strong model, and what that costs beside the
 * worker model alone: `bun bench/agent-runs.ts [--form tool|raw] [--asks N] [--list]`. In this process, without a gateway.
 * Needs the recorded runs at ../shared/agent-runs.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import type { ChatMessage, ChatRequest, JsonObject } from "#domain/chat.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { type Assessment, assess } from "#pipeline/assess/assess.ts";
import { inMemoryTaskMemory } from "#pipeline/assess/task/task-memory.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";
import { capsOf } from "#policy/caps.ts";
import { Policy } from "#policy/schema.ts";

const { values } = parseArgs({
  options: {
    form: { type: "string", default: "tool" },
    asks: { type: "string", default: "1" },
    list: { type: "boolean", default: false },
  },
});
const file = join(import.meta.dir, "../../shared/agent-runs/dev.jsonl.gz");
if (!existsSync(file)) {
  console.log("No recorded runs at ../shared/agent-runs: nothing is measured.");
  process.exit(0);
}

interface Run {
  readonly id: string;
  readonly resolved: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}
const runs = gunzipSync(readFileSync(file))
  .toString()
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Run); // recorded by ourselves

const sections = "routing hard_rules limits scout privacy budget health upstream stream tasks records".split(" ");
const policy = Policy.parse(Object.fromEntries(sections.map((name) => [name, {}])));
const loaded = loadRegistry(undefined);
if (loaded.kind !== "ok") throw new Error("the shipped registry is invalid");
const configuration = { policy, registry: loaded.registry, caps: capsOf(policy) };
const tools = [{ type: "function", function: { name: "bash", description: "Run a shell command.", parameters: {} } }];
const usdPerMTok = { flash: [0.14, 0.0028, 0.28], pro: [0.435, 0.003625, 0.87] } as const;
type Tier = keyof typeof usdPerMTok;

function messagesOf(run: Run, first: boolean): JsonObject[] {
  const out: JsonObject[] = [];
  let calls = 0;
  for (let index = 0; index < run.messages.length; index++) {
    const message = run.messages[index];
    if (message === undefined || (message.role === "system" && !first)) continue;
    if (values.form === "raw" || message.role !== "assistant") {
      out.push({ ...message });
      continue;
    }
    const command = /```bash\n([\s\S]*?)\n```/.exec(message.content)?.[1] ?? "";
    const id = `call_${run.id}_${calls++}`;
    out.push({
      role: "assistant",
      content: message.content.split("```")[0] ?? "",
      tool_calls: [{ id, type: "function", function: { name: "bash", arguments: JSON.stringify({ command }) } }],
    });
    const next = run.messages[index + 1];
    if (next?.role === "user") {
      out.push({ role: "tool", tool_call_id: id, content: next.content });
      index++;
    }
  }
  return out;
}

interface Session {
  readonly id: string;
  readonly resolved: boolean;
  readonly messages: JsonObject[];
}
const perSession = Number(values.asks);
const sessions: Session[] = [true, false].flatMap((resolved) => {
  const of = runs.filter((run) => run.resolved === resolved);
  const made: Session[] = [];
  for (let start = 0; start + perSession <= of.length; start += perSession) {
    const messages: JsonObject[] = [];
    for (const [place, run] of of.slice(start, start + perSession).entries()) {
      messages.push(...messagesOf(run, place === 0));
      if (place + 1 < perSession && messages.at(-1)?.["role"] !== "assistant") {
        messages.push({ role: "assistant", content: "Done." });
      }
    }
    made.push({ id: of[start]?.id ?? "", resolved, messages });
  }
  return made;
});

function assessed(messages: JsonObject[], bodyBytes: number): Assessment {
  const body = { messages: messages as ChatMessage[], ...(values.form === "tool" ? { tools } : {}) };
  const request: ChatRequest = {
    requestId: "bench",
    alias: "smart-router",
    stream: false,
    body,
    bodyBytes,
    requestedOutputTokens: null,
    choices: 1,
    wantsUsage: false,
    routing: { forcePro: false, scoutFirst: false, taskFields: {} },
    receivedAtMs: 0,
  };
  return assess(
    request,
    body,
    inMemoryTaskMemory(() => policy.tasks),
    { now: 0, policy, redactions: 0 },
  );
}

const whys = new Map<string, number>();
let reading = 0;
const judged = sessions.map((session) => {
  const calls: { why: string; tier: Tier; tokens: number }[] = [];
  let routedTo: string | undefined;
  for (let index = 1; index < session.messages.length; index++) {
    if (session.messages[index]?.["role"] !== "assistant") continue;
    const messages = session.messages.slice(0, index);
    const tokens = Math.ceil(JSON.stringify(messages).length / 4);
    const begun = performance.now();
    const { task, runtime, size, continuation, scale } = assessed(messages, 4 * tokens);
    reading += performance.now() - begun;
    const base = { ...takeSnapshot(configuration as never, {}, size), scale }; // only what a snapshot reads
    const snapshot = routedTo === undefined ? base : { ...base, affinity: { model: routedTo, continuation } };
    const { model, cause, evidence } = decide(task, runtime, snapshot);
    routedTo = model ?? undefined;
    const rule = evidence.find((entry) => entry.startsWith("hard_rule="))?.slice("hard_rule=".length);
    const why = rule ?? cause;
    whys.set(why, (whys.get(why) ?? 0) + 1);
    calls.push({ why, tier: loaded.registry.models.get(model ?? "")?.role === "worker" ? "flash" : "pro", tokens });
  }
  return { ...session, calls };
});

function costOf(calls: readonly { tokens: number }[], tierOf: (place: number) => Tier): number {
  const cached = { flash: 0, pro: 0 };
  let usd = 0;
  for (const [place, { tokens }] of calls.entries()) {
    const tier = tierOf(place);
    const [input, hit, output] = usdPerMTok[tier];
    const known = Math.min(cached[tier], tokens);
    usd += (known * hit + (tokens - known) * input + 250 * output) / 1e6;
    cached[tier] = tokens;
  }
  return usd;
}

const met = (resolved: boolean) => {
  const of = judged.filter((session) => session.resolved === resolved);
  return of.filter(({ calls }) => calls.some(({ tier }) => tier === "pro")).length / of.length;
};
const all = judged.flatMap(({ calls }) => calls);
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const routed = sum(judged.map(({ calls }) => costOf(calls, (place) => calls[place]?.tier ?? "flash")));
const flash = sum(judged.map(({ calls }) => costOf(calls, () => "flash")));
const switches = judged.map(
  ({ calls }) => calls.filter(({ tier }, at) => at > 0 && tier !== calls[at - 1]?.tier).length,
);
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
console.log(
  [
    `form ${values.form}, asks ${perSession}: ${judged.length} sessions, ${all.length} calls`,
    `calls on pro ${percent(all.filter(({ tier }) => tier === "pro").length / all.length)}`,
    `sessions that met pro: resolved ${percent(met(true))}, failed ${percent(met(false))}, lift ${(met(false) / met(true)).toFixed(2)}`,
    `cost ${(routed / flash).toFixed(3)} x all-flash`,
    `switches per session: mean ${(sum(switches) / switches.length).toFixed(2)}, most ${Math.max(...switches)}`,
    `reading a call: ${((1_000 * reading) / all.length).toFixed(0)} µs`,
    [...whys].map(([why, count]) => `${why} ${count}`).join(", "),
  ].join("\n"),
);
if (values.list) {
  for (const { id, resolved, calls } of judged) {
    console.log(
      resolved ? "ok  " : "fail",
      id,
      [...new Set(calls.map((c) => c.why))].join("+"),
      calls.map(({ tier }) => (tier === "pro" ? "P" : ".")).join(""),
    );
  }
}
