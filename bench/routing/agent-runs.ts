import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import { assessedBody, routed, type Tier } from "./assessed.ts";

const file = join(import.meta.dir, "../../../shared/agent-runs/dev.jsonl.gz");
const tools = [{ type: "function", function: { name: "bash", description: "Run a shell command.", parameters: {} } }];
/** List prices in USD per million tokens: input, cached input, output. */
const usdPerMTok = { flash: [0.14, 0.0028, 0.28], pro: [0.435, 0.003625, 0.87] } as const;
const outputTokens = 250;
export type Form = "tool" | "raw";

interface Run {
  readonly id: string;
  readonly resolved: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

interface Call {
  readonly tier: Tier;
  readonly tokens: number;
  readonly readingMs: number;
}

interface Session {
  readonly resolved: boolean;
  readonly calls: readonly Call[];
}

/** The routing of recorded runs. Shares and factors, not percent. */
export interface Replay {
  readonly calls: number;
  readonly proCalls: number;
  /** Easy work sent to pro: resolved sessions that met the senior model. Hard work left on flash: failed ones that did not. */
  readonly resolvedMeetingPro: number;
  readonly failedMeetingPro: number;
  /** Sessions that met the senior model at their first call. */
  readonly atFirstCall: number;
  /** Cost as a multiple of the worker model alone, and of the senior model alone. */
  readonly timesFlash: number;
  readonly timesPro: number;
  readonly switchesPerSession: number;
  /** Mean time to assess one call, in microseconds. */
  readonly readingUs: number;
}

/**
 * Where routing sends the calls of recorded agents' runs, which runs meet the senior model, and what that costs beside the
 * worker model alone; in this process, without a gateway. Undefined where the runs are not at hand. `asks` runs make a session.
 */
export function replayRuns(form: Form, asks = 1): Replay | undefined {
  if (!existsSync(file)) return undefined;
  const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n");
  const runs = lines.map((line) => JSON.parse(line) as Run); // recorded for this bench
  const sessions = conversations(runs, form, asks).map(({ resolved, messages }) => ({
    resolved,
    calls: [...replayedCalls(messages, form)],
  }));
  const shareMeeting = (resolved: boolean) => {
    const of = sessions.filter((session) => session.resolved === resolved);
    return of.filter(({ calls }) => calls.some(isPro)).length / of.length;
  };
  const costWith = (tierOf: (call: Call) => Tier) => sum(sessions.map(({ calls }) => cost(calls, tierOf)));
  const all = sessions.flatMap(({ calls }) => calls);
  return {
    calls: all.length,
    proCalls: all.filter(isPro).length / all.length,
    resolvedMeetingPro: shareMeeting(true),
    failedMeetingPro: shareMeeting(false),
    atFirstCall: sessions.filter(({ calls }) => calls[0]?.tier === "pro").length / sessions.length,
    timesFlash: costWith(({ tier }) => tier) / costWith(() => "flash"),
    timesPro: costWith(({ tier }) => tier) / costWith(() => "pro"),
    switchesPerSession: sum(sessions.map(switches)) / sessions.length,
    readingUs: (1_000 * sum(all.map(({ readingMs }) => readingMs))) / all.length,
  };
}

/** Each call that the messages of a session were recorded from, routed again. */
function* replayedCalls(messages: readonly JsonObject[], form: Form): Generator<Call> {
  let model: string | undefined;
  for (let index = 1; index < messages.length; index++) {
    if (messages[index]?.["role"] !== "assistant") continue;
    const sent = messages.slice(0, index) as ChatMessage[]; // made by messagesIn
    const tokens = Math.ceil(JSON.stringify(sent).length / 4);
    const begun = performance.now();
    const assessment = assessedBody({ messages: sent, ...(form === "tool" ? { tools } : {}) }, 4 * tokens);
    const readingMs = performance.now() - begun;
    const { continuation } = assessment;
    const { decision, tier } = routed(assessment, model === undefined ? undefined : { model, continuation });
    model = decision.model ?? undefined;
    yield { tier, tokens, readingMs };
  }
}

function isPro({ tier }: Call): boolean {
  return tier === "pro";
}

function switches({ calls }: Session): number {
  return calls.filter(({ tier }, at) => at > 0 && tier !== calls[at - 1]?.tier).length;
}

function conversations(runs: readonly Run[], form: Form, asks: number) {
  return [true, false].flatMap((resolved) => {
    const of = runs.filter((run) => run.resolved === resolved);
    return Array.from({ length: Math.floor(of.length / asks) }, (_, session) => {
      const messages: JsonObject[] = [];
      for (const [place, run] of of.slice(session * asks, (session + 1) * asks).entries()) {
        messages.push(...messagesIn(run, form, place === 0));
        if (place + 1 < asks && messages.at(-1)?.["role"] !== "assistant") {
          messages.push({ role: "assistant", content: "Done." });
        }
      }
      return { resolved, messages };
    });
  });
}

function messagesIn(run: Run, form: Form, first: boolean): JsonObject[] {
  const out: JsonObject[] = [];
  for (let index = 0; index < run.messages.length; index++) {
    const message = run.messages[index];
    if (message === undefined || (message.role === "system" && !first)) continue;
    if (form === "raw" || message.role !== "assistant") {
      out.push({ ...message });
      continue;
    }
    const command = /```bash\n([\s\S]*?)\n```/.exec(message.content)?.[1] ?? "";
    const id = `call_${run.id}_${index}`;
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

/** With the prompt cache of each model: the part of the conversation that the model has seen costs the cached price. */
function cost(calls: readonly Call[], tierOf: (call: Call) => Tier): number {
  const cached = { flash: 0, pro: 0 };
  let usd = 0;
  for (const call of calls) {
    const tier = tierOf(call);
    const [input, hit, output] = usdPerMTok[tier];
    const known = Math.min(cached[tier], call.tokens);
    cached[tier] = call.tokens;
    usd += (known * hit + (call.tokens - known) * input + outputTokens * output) / 1e6;
  }
  return usd;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
