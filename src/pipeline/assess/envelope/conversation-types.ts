import type { RunSteps } from "#pipeline/assess/run-signals/run-steps.ts";

/** A conversation as assessing reads it, with the run since the ask. All texts are windows: reading costs the same however long the history is. */
export interface Conversation extends RunSteps {
  /** What the user wants now, without what the harness wrapped around it. */
  readonly ask: string;
  /** What the work is about: the ask, or the one before it when the ask says only to go on. */
  readonly subject: string;
  /** Whether the newest user message, in the user's own words, carries `[reasoning:high]`. */
  readonly asksForHighReasoning: boolean;
  /** Whether the model is in the middle of an agent's run: calls have been answered since the ask. */
  readonly inRun: boolean;
  /** Beginning of the system prompt, and its whole length in characters. Parsed when they are read. */
  readonly system: string;
  readonly systemLength: number;
  /** The newest user message as it came: its beginning and end. */
  readonly newest: string;
  /** The last message if it is a system prompt behind the conversation: its beginning and end; empty if it is none. */
  readonly closing: string;
  /** Messages by users and assistants. */
  readonly turns: number;
  /** Whether any tool has been called in the conversation. */
  readonly usedTools: boolean;
  readonly tools: OfferedTools;
}

/** What is known of the tools offered. Holds no text. */
export interface OfferedTools {
  /** How many have a name. */
  readonly count: number;
  /** Whether one of them reads or changes files, or runs commands. */
  readonly workInRepository: boolean;
}
