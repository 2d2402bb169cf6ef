import type { ModelRegistry } from "#domain/model.ts";
import { costOf } from "#domain/money/tokens.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { DecisionInputs, DecisionRecord, DecisionTokens } from "#records/decision-record.ts";

export interface CostUnder {
  readonly nanoUsd: number;
  /** The request was refused, so its tokens are not recorded: the size of its prompt and a typical answer are used. */
  readonly estimated: boolean;
}

/** What a request would have cost under another decision, in nano-USD. */
export function costUnder(
  record: DecisionRecord,
  decision: Pick<RoutingDecision, "model" | "action">,
  registry: ModelRegistry,
  before: ConversationState | undefined,
  typical: TypicalOutput,
): CostUnder {
  if (decision.model === null) return { nanoUsd: 0, estimated: false };
  const sameModel = decision.model === record.model;
  const sameCache = before === undefined || before.model === before.recordedModel;
  if (sameModel && sameCache) return { nanoUsd: record.cost_nano_usd, estimated: false };
  const model = registry.models.get(decision.model);
  if (model === undefined) return { nanoUsd: record.cost_nano_usd, estimated: true };
  const { tokens } = record;
  // There was no answer (the upstream failed or the caller left). Another model is taken to have the same cost.
  if (tokens === null && record.model !== null) return { nanoUsd: record.cost_nano_usd, estimated: true };
  const used = tokens ?? typical.tokensOf(record);
  const cached = cachedUnder(used, decision.model, record, before);
  const during = { fromMs: record.at_ms, toMs: record.at_ms + record.timings.total_ms };
  const usage = {
    input: used.prompt,
    cachedInput: cached,
    cacheWrite: Math.min(used.cache_write, used.prompt - cached),
    output: used.completion,
    reasoning: used.reasoning,
  };
  return { nanoUsd: costOf(usage, model.price, during), estimated: tokens === null };
}

/** Tokens that the model would have found in its cache: nothing after a switch, else what it saw of the conversation before. */
function cachedUnder(
  { prompt, cached }: DecisionTokens,
  model: string,
  record: DecisionRecord,
  before: ConversationState | undefined,
): number {
  // A first request: only what all conversations share, such as a system prompt, which any model would have cached too.
  if (before === undefined) return cached;
  if (before.model !== model) return 0;
  return before.recordedModel === record.model ? cached : Math.min(before.promptTokens, prompt);
}

/** The mean length of the recorded answers, for requests that were refused. */
export class TypicalOutput {
  #answers = 0;
  #tokens = 0;

  learn({ tokens, outcome }: DecisionRecord): void {
    if (tokens === null || outcome !== "answered") return;
    this.#answers += 1;
    this.#tokens += tokens.completion;
  }

  tokensOf({ inputs }: DecisionRecord): DecisionTokens {
    const completion = this.#answers === 0 ? 0 : Math.round(this.#tokens / this.#answers);
    const prompt = Math.ceil(inputs?.size.input_tokens_estimate ?? 0);
    return { prompt, cached: 0, cache_write: 0, completion, reasoning: 0 };
  }
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
  readonly #states = new Map<string, ConversationState>();

  of({ conversation }: DecisionRecord): ConversationState | undefined {
    return conversation === null ? undefined : this.#states.get(conversation);
  }

  /** The affinity that the request would have met: the recorded one, unless its conversation has gone elsewhere. */
  affinityUnder(record: DecisionRecord): DecisionInputs["affinity"] {
    const recorded = record.inputs?.affinity ?? null;
    const state = this.of(record);
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
    this.#states.delete(conversation);
    this.#states.set(conversation, {
      recordedModel: record.model ?? before?.recordedModel ?? null,
      model: model ?? before?.model ?? null,
      promptTokens: record.tokens?.prompt ?? before?.promptTokens ?? 0,
    });
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= maxConversations) break;
      this.#states.delete(oldest);
    }
  }
}
