import type { ModelRegistry } from "#domain/model.ts";
import { costOf } from "#domain/money/tokens.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { LruMap } from "#platform/lru-map.ts";
import type { DecisionInputs, DecisionRecord } from "#records/decision-record.ts";

export interface CostUnder {
  readonly nanoUsd: number;
  /** The request was refused, so its tokens are not recorded: the size of its prompt and a typical answer are used. */
  readonly estimated: boolean;
}

/** What a request would have cost under another decision, in nano-USD. `typicalAnswer`: tokens of an answer that is not recorded. */
export function costUnder(
  record: DecisionRecord,
  decision: Pick<RoutingDecision, "model" | "action">,
  registry: ModelRegistry,
  before: ConversationState | undefined,
  typicalAnswer: number,
): CostUnder {
  if (decision.model === null) return { nanoUsd: 0, estimated: false };
  const { tokens, inputs } = record;
  const isSameCache = before === undefined || before.model === before.recordedModel;
  const isSame = decision.model === record.model && isSameCache;
  const model = registry.models.get(decision.model);
  // Without an answer (the upstream failed or the caller left) another model is taken to have the same cost.
  if (isSame || model === undefined || (tokens === null && record.model !== null)) {
    return { nanoUsd: record.cost_nano_usd, estimated: !isSame };
  }
  const prompt = Math.ceil(inputs?.size.input_tokens_estimate ?? 0);
  const used = tokens ?? { prompt, cached: 0, cache_write: 0, completion: typicalAnswer, reasoning: 0 };
  // A first request: only what all conversations share, such as a system prompt, which any model would have cached too.
  let cachedInput = used.cached;
  // Nothing after a switch, else what the model saw of the conversation before.
  if (before !== undefined && before.model !== decision.model) cachedInput = 0;
  else if (before !== undefined && before.recordedModel !== record.model) {
    cachedInput = Math.min(before.promptTokens, used.prompt);
  }
  const cacheWrite = Math.min(used.cache_write, used.prompt - cachedInput);
  const usage = { input: used.prompt, cachedInput, cacheWrite, output: used.completion, reasoning: used.reasoning };
  const during = { fromMs: record.at_ms, toMs: record.at_ms + record.timings.total_ms };
  return { nanoUsd: costOf(usage, model.price, during), estimated: tokens === null };
}

/** The state of a conversation, as it was recorded and as the backtest would have left it. */
interface ConversationState {
  /** The models that the last request was routed to. */
  readonly recordedModel: string | null;
  readonly model: string | null;
  /** Prompt tokens of the last request; no more can be cached. */
  readonly promptTokens: number;
}

/** Conversations are short; those longest without a request are forgotten. */
const maxConversations = 50_000;

/** Tracks which model would have the context of each conversation cached. */
export class Conversations {
  readonly #states = new LruMap<string, ConversationState>();

  get({ conversation }: DecisionRecord): ConversationState | undefined {
    return conversation === null ? undefined : this.#states.get(conversation);
  }

  /** The affinity that the request would have met: the recorded one, unless its conversation has gone elsewhere. */
  affinityUnder(record: DecisionRecord): DecisionInputs["affinity"] {
    const recorded = record.inputs?.affinity ?? null;
    const state = this.get(record);
    if (recorded === null || state === undefined || state.model === state.recordedModel) return recorded;
    return state.model === null ? null : { ...recorded, model: state.model };
  }

  /** Records that the request would have been routed to `model`. Refusals and housekeeping change nothing. */
  recordModel(record: DecisionRecord, model: string | null): void {
    const { conversation } = record;
    if (conversation === null || record.housekeeping !== null) return;
    // A request without an answer leaves nothing in the cache of any model.
    if (record.served_by === null && record.model !== null) return;
    const before = this.#states.get(conversation);
    this.#states.set(conversation, {
      recordedModel: record.model ?? before?.recordedModel ?? null,
      model: model ?? before?.model ?? null,
      promptTokens: record.tokens?.prompt ?? before?.promptTokens ?? 0,
    });
    this.#states.trim(maxConversations);
  }
}
