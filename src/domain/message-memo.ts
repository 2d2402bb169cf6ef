import type { ChatMessage } from "./chat.ts";

/** What has been computed of one message, in the places that `memoizeByMessage` has handed out. */
export type MessageFacts = unknown[];

/** Where a message has its facts, if it is one that is known from one request to the next. */
export const messageFacts: unique symbol = Symbol("facts");

let places = 0;

/**
 * A function of one message that is computed once for each message, as long as the message is cached: an agent sends its whole
 * history with every call. The result may hold numbers, flags and names that the program has chosen, never text of the message.
 */
export function memoizeByMessage<T>(compute: (message: ChatMessage) => T): (message: ChatMessage) => T {
  const place = places++;
  return (message) => {
    const facts = (message as { readonly [messageFacts]?: MessageFacts })[messageFacts];
    if (facts === undefined) return compute(message);
    if (place in facts) return facts[place] as T; // nobody else writes to the place
    const value = compute(message);
    facts[place] = value;
    return value;
  };
}
