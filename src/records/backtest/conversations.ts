import type { DecisionInputs, DecisionRecord } from "#records/decision-record.ts";

/** The state of a conversation, as it was recorded and as the backtest would have left it. */
export interface ConversationState {
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
