import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { capsOf } from "#config/policy.ts";
import type { ChatMessage, JsonObject } from "#domain/chat.ts";
import type { ModelRegistry } from "#domain/model.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { takeSnapshot } from "#pipeline/take-snapshot.ts";
import { assessedBody, benchPolicy } from "./assessed.ts";

const file = join(import.meta.dir, "../../../shared/agent-runs/dev.jsonl.gz");
const tools = [{ type: "function", function: { name: "bash", description: "Run a shell command.", parameters: {} } }];
/** List prices in USD per million tokens: input, cached input, output. */
const usdPerMTok = { flash: [0.14, 0.0028, 0.28], pro: [0.435, 0.003625, 0.87] } as const;
type Tier = keyof typeof usdPerMTok;
export type Form = "tool" | "raw";

interface Run {
  readonly id: string;
  readonly resolved: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

interface Session {
  readonly id: string;
  readonly resolved: boolean;
  readonly messages: JsonObject[];
  /** The index at which each ask begins. */
  readonly starts: readonly number[];
}

interface Call {
  readonly tier: Tier;
  readonly tokens: number;
  /** How long it took to assess. */
  readonly readingMs: number;
  /** The hard rule that fired, or the cause of the decision. */
  readonly cause: string;
  /** The number of the ask within its session. */
  readonly ask: number;
  /** Affinity kept it on the conversation's model. */
  readonly kept: boolean;
  /** Names in `conditions` that are met at this call, and hard rules with other names that fire. */
  readonly conditions: readonly string[];
}

interface Condition {
  readonly name: string;
  readonly holds: (sameErrorCount: number, toolDepth: number) => boolean;
}

/** The values that hard rules compare, at the shipped thresholds and at others. */
const conditions: readonly Condition[] = [
  ...[1, 2, 3].map((min) => ({ name: `same_error_count ≥ ${min}`, holds: (count: number) => count >= min })),
  ...[8, 12, 16, 20, 24].map((min) => ({
    name: `tool_depth ≥ ${min}`,
    holds: (_: number, toolDepth: number) => toolDepth >= min,
  })),
];
const comparedRules = new Set(["same_error_count", "tool_depth"]);

/** Which runs meet a condition, as shares of the sessions, and the share of the calls at which it is met. */
export interface ConditionFigures {
  readonly name: string;
  readonly resolved: number;
  readonly failed: number;
  readonly calls: number;
}

/** The routing of recorded runs. Shares and factors, not percent. */
export interface Replay {
  readonly sessions: number;
  readonly calls: number;
  readonly proCalls: number;
  readonly resolvedMeetingPro: number;
  readonly failedMeetingPro: number;
  /** Cost as a multiple of the worker model alone, and of the senior model alone. */
  readonly timesFlash: number;
  readonly timesPro: number;
  /**
   * Share of the asks that are flagged: some call of theirs went to the senior model by a rule or the score, and not only because the
   * conversation was there already. What these cost beyond the worker model, and what all others cost, in costs of the worker model
   * for everything; together they are `timesFlash`.
   */
  readonly flagged: { readonly share: number; readonly extra: number; readonly others: number };
  readonly switchesPerSession: number;
  /** Mean time to assess one call, in microseconds. */
  readonly readingUs: number;
  /** Calls by the deciding cause or hard rule. */
  readonly causes: ReadonlyMap<string, number>;
  readonly conditions: readonly ConditionFigures[];
}

/**
 * Where routing sends the calls of recorded agents' runs, which runs meet the senior model, and what that costs beside the
 * worker model alone; in this process, without a gateway. Undefined where the runs are not at hand. `asks` runs make a session.
 */
export function replayRuns(form: Form, asks = 1): Replay | undefined {
  if (!existsSync(file)) return undefined;
  const runs = gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Run); // recorded for this bench
  const loaded = loadRegistry(undefined);
  if (loaded.kind !== "ok") throw new Error("the shipped registry is invalid");
  const sessions = sessionsOf(runs, form, asks).map(({ resolved, messages, starts }) => ({
    resolved,
    calls: [...replayedCalls(messages, starts, form, loaded.registry)],
  }));
  return figuresOf(sessions);
}

/** Each call that the messages of a session were recorded from, routed again. */
function* replayedCalls(
  messages: readonly JsonObject[],
  starts: readonly number[],
  form: Form,
  registry: ModelRegistry,
): Generator<Call> {
  const configuration = { policy: benchPolicy, registry, caps: capsOf(benchPolicy) };
  let routedTo: string | undefined;
  for (let index = 1; index < messages.length; index++) {
    if (messages[index]?.["role"] !== "assistant") continue;
    const sent = messages.slice(0, index) as ChatMessage[]; // made by messagesOf
    const tokens = Math.ceil(JSON.stringify(sent).length / 4);
    const begun = performance.now();
    const assessment = assessedBody({ messages: sent, ...(form === "tool" ? { tools } : {}) }, 4 * tokens);
    const readingMs = performance.now() - begun;
    const { task, runtime, size, continuation, scale, prose } = assessment;
    const base = { ...takeSnapshot(configuration as never, {}, size), scale, prose }; // the fields that a snapshot reads
    const snapshot = routedTo === undefined ? base : { ...base, affinity: { model: routedTo, continuation } };
    const { model, cause, evidence } = decide(task, runtime, snapshot);
    routedTo = model ?? undefined;
    const rules = evidence.flatMap((entry) => (entry.startsWith("hard_rule=") ? entry.slice("hard_rule=".length) : []));
    const toolDepth = runtime.tool_depth + task.estimated_tool_depth;
    yield {
      tier: registry.models.get(model ?? "")?.role === "worker" ? "flash" : "pro",
      tokens,
      readingMs,
      cause: rules[0] ?? cause,
      ask: starts.findLastIndex((start) => start < index),
      kept: cause === "affinity",
      conditions: [
        ...conditions.filter(({ holds }) => holds(runtime.same_error_count, toolDepth)).map(({ name }) => name),
        ...rules.filter((rule) => !comparedRules.has(rule)),
      ],
    };
  }
}

interface ReplayedSession {
  readonly resolved: boolean;
  readonly calls: readonly Call[];
}

function figuresOf(sessions: readonly ReplayedSession[]): Replay {
  const shareOf = (resolved: boolean, isMet: (call: Call) => boolean) => {
    const of = sessions.filter((session) => session.resolved === resolved);
    return of.filter(({ calls }) => calls.some(isMet)).length / of.length;
  };
  const isPro = ({ tier }: Call) => tier === "pro";
  const all = sessions.flatMap(({ calls }) => calls);
  const causes = new Map<string, number>();
  for (const { cause } of all) causes.set(cause, (causes.get(cause) ?? 0) + 1);
  const names = new Set([...conditions.map(({ name }) => name), ...all.flatMap((call) => call.conditions)]);
  const switches = sessions.map(
    ({ calls }) => calls.filter(({ tier }, at) => at > 0 && tier !== calls[at - 1]?.tier).length,
  );
  return {
    sessions: sessions.length,
    calls: all.length,
    proCalls: all.filter(isPro).length / all.length,
    resolvedMeetingPro: shareOf(true, isPro),
    failedMeetingPro: shareOf(false, isPro),
    ...costFiguresOf(sessions),
    switchesPerSession: sum(switches) / sessions.length,
    readingUs: (1_000 * sum(all.map(({ readingMs }) => readingMs))) / all.length,
    causes,
    conditions: [...names].map((name) => {
      const holds = (call: Call) => call.conditions.includes(name);
      return {
        name,
        resolved: shareOf(true, holds),
        failed: shareOf(false, holds),
        calls: all.filter(holds).length / all.length,
      };
    }),
  };
}

function costFiguresOf(sessions: readonly ReplayedSession[]): Pick<Replay, "timesFlash" | "flagged" | "timesPro"> {
  const costWith = (tierOf: (call: Call) => Tier) => sum(sessions.map(({ calls }) => sum(costsOf(calls, tierOf))));
  const routed = costWith(({ tier }) => tier);
  const split = sessions.map(({ calls }) => splitOf(calls));
  const flash = sum(split.map((each) => each.flash));
  const extra = sum(split.map((each) => each.extra));
  return {
    timesFlash: routed / flash,
    flagged: {
      share: sum(split.map(({ flagged }) => flagged)) / sum(split.map((each) => each.asks)),
      extra: extra / flash,
      others: (routed - extra) / flash,
    },
    timesPro: routed / costWith(() => "pro"),
  };
}

function sessionsOf(runs: readonly Run[], form: Form, asks: number): Session[] {
  return [true, false].flatMap((resolved) => {
    const of = runs.filter((run) => run.resolved === resolved);
    const made: Session[] = [];
    for (let start = 0; start + asks <= of.length; start += asks) {
      const messages: JsonObject[] = [];
      const starts: number[] = [];
      for (const [place, run] of of.slice(start, start + asks).entries()) {
        starts.push(messages.length);
        messages.push(...messagesOf(run, form, place === 0));
        if (place + 1 < asks && messages.at(-1)?.["role"] !== "assistant") {
          messages.push({ role: "assistant", content: "Done." });
        }
      }
      made.push({ id: of[start]?.id ?? "", resolved, messages, starts });
    }
    return made;
  });
}

function messagesOf(run: Run, form: Form, first: boolean): JsonObject[] {
  const out: JsonObject[] = [];
  let calls = 0;
  for (let index = 0; index < run.messages.length; index++) {
    const message = run.messages[index];
    if (message === undefined || (message.role === "system" && !first)) continue;
    if (form === "raw" || message.role !== "assistant") {
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

/** Asks of a session, how many were flagged, the cost on the worker model, and the additional cost of the flagged ones. */
function splitOf(calls: readonly Call[]) {
  const [routed, flash] = [costsOf(calls, ({ tier }) => tier), costsOf(calls, () => "flash")];
  const flagged = new Set(calls.filter(({ tier, kept }) => tier === "pro" && !kept).map(({ ask }) => ask));
  const extra = sum(calls.map(({ ask }, at) => (flagged.has(ask) ? (routed[at] ?? 0) - (flash[at] ?? 0) : 0)));
  return { asks: new Set(calls.map(({ ask }) => ask)).size, flagged: flagged.size, extra, flash: sum(flash) };
}

/** The cost of each call with the prompt cache of each model: the part of the conversation that the model has seen costs the cached price. */
function costsOf(calls: readonly Call[], tierOf: (call: Call) => Tier): number[] {
  const cached = { flash: 0, pro: 0 };
  return calls.map((call) => {
    const tier = tierOf(call);
    const [input, hit, output] = usdPerMTok[tier];
    const known = Math.min(cached[tier], call.tokens);
    cached[tier] = call.tokens;
    return (known * hit + (call.tokens - known) * input + 250 * output) / 1e6;
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
