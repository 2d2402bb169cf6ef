import type { TextRestorer } from "#pipeline/respond/text-restorer.ts";
import type { AnswerGuard } from "#privacy/redaction.ts";

/** What a completion is called, and when it was made, in Unix seconds. */
export interface CompletionIdentity {
  readonly id: string;
  readonly created: number;
}

export interface ShapeOptions {
  /** The upstream id of the model that was asked; every chunk names it, or the one that answers instead. */
  readonly model: string;
  /** For chunks of our own making, when the upstream has said nothing of its own. */
  readonly identity: CompletionIdentity;
  /** Whether the caller asked for the usage chunk. */
  readonly wantsUsage: boolean;
  /** Where the reasoning goes that comes before the answer's text. */
  readonly reasoning: ReasoningMode;
  /** Reasoning held back for the first content delta is sent as a delta of its own beyond this many characters. */
  readonly maxHeldCharacters: number;
  readonly restorer?: () => TextRestorer;
  /** Keeps the gateway's own key out of what is sent. */
  readonly guard?: AnswerGuard;
}

/**
 * `field`: held back and put into the first content delta as its reasoning fields; `content`: held back and put in front
 * of the text; `live`: passed on as it comes.
 */
export type ReasoningMode = "field" | "content" | "live";
