import { askIn, isContinuePrompt } from "./ask.ts";
import { harnessTurnIn } from "./harness-turn.ts";
import { isCompactionRequest } from "./housekeeping.ts";

/** What a user's message asks for. */
export interface ReadAsk {
  /** Empty where no user asks for anything. */
  readonly ask: string;
  /** It asks to compact the conversation, which is long. */
  readonly compacts: boolean;
  /** It only says to go on. */
  readonly continues: boolean;
}

/** Messages from which on a conversation has something to be compacted: an ask, its answer and the request. */
const longConversation = 3;

/**
 * @param shown the part of the message that is read
 * @param messages how many the conversation has
 */
export function readAsk(shown: string, messages: number): ReadAsk {
  const ask = harnessTurnIn(shown) === undefined ? askIn(shown) : "";
  const compacts = messages >= longConversation && ask !== "" && isCompactionRequest(shown);
  return { ask, compacts, continues: isContinuePrompt(ask) };
}
