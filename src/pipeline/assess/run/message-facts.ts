import { type ChatMessage, isObject, type Json } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/message-memo.ts";
import { textOf } from "#pipeline/assess/conversation/text.ts";
import { hashOf } from "./hashes.ts";
import { readModelText } from "./model-text.ts";
import { type CallFacts, callFacts } from "./tool-call.ts";
import { type Observation, observe } from "./tool-result.ts";

/**
 * What each message shows by itself: numbers, flags and hashes, computed once for a message, because agents send their
 * whole history with every call.
 */
export const modelFacts = memoizeByMessage((message) => {
  const { tool_calls: listed, function_call: called } = message;
  const given = Array.isArray(listed) ? listed.filter(isObject) : [];
  const calls = given.map((call) => calledFacts(call["function"] ?? call["custom"], call["id"]));
  if (isObject(called)) calls.push(calledFacts(called, undefined));
  const { prose, call, edits } = readModelText(textOf(message["content"]));
  return {
    /** Characters of the model's own prose, with its reasoning where the caller sends it back. */
    prose: prose + (lengthOf(message["reasoning"]) || lengthOf(message["reasoning_content"])),
    calls,
    /** A call in its text; a harness that runs it gives the result in a message of the user. */
    written: calls.length > 0 || call === undefined ? undefined : callFacts(call),
    /** An edit in its text, which a harness makes and says nothing, unless it could not. */
    edits: calls.length === 0 && edits,
  };
});

function lengthOf(text: Json | undefined): number {
  return typeof text === "string" ? text.length : 0;
}

/** `function` as on the wire; custom tools carry free text as `input`. Not validated at the edge, so read with care. */
function calledFacts(called: Json | undefined, id: Json | undefined): CallFacts {
  const { name, arguments: args = null, input = null } = isObject(called) ? called : {};
  const text = args ?? input;
  const call = { name: typeof name === "string" ? name : "", args: typeof text === "string" ? text : "" };
  return callFacts(call, typeof id === "string" ? id : undefined);
}

/** Hash of the id of the call that a result answers. */
export const answeredId = memoizeByMessage(({ tool_call_id: id }) => (typeof id === "string" ? hashOf(id) : undefined));

const kept = memoizeByMessage((): { observation?: Observation } => ({}));

/** What came of a call, by the message that gives its result. */
export function observedIn(message: ChatMessage, call: CallFacts): Observation {
  const known = kept(message);
  if (known.observation?.call.hash !== call.hash) known.observation = observe(call, textOf(message["content"]));
  return known.observation;
}
