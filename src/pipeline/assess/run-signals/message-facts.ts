import { type ChatMessage, isObject, isSystemRole, type Json } from "#domain/chat.ts";
import { Fact, memoizeByMessage } from "#domain/known-message.ts";
import { askIn, asksForHighReasoning, isCompactionRequest, isContinuePrompt } from "#pipeline/assess/envelope/ask.ts";
import { callInText, harnessTurnIn, holdsEdit } from "#pipeline/assess/envelope/harness-turn.ts";
import { askHead, askTail, textOf, windowOf } from "#pipeline/assess/envelope/text-window.ts";
import { hashOf } from "./hashes.ts";
import { proseIn } from "./prose.ts";
import { type CallFacts, callFacts } from "./tool-call.ts";
import { type Observation, observe } from "./tool-result.ts";

/**
 * What each message shows by itself, whatever stands around it: numbers, flags and hashes, computed once for a message, because
 * agents send their whole history with every call.
 */

export const modelFacts = memoizeByMessage((message) => {
  const { tool_calls: listed, function_call: called } = message;
  const calls: CallFacts[] = [];
  for (const each of Array.isArray(listed) ? listed : []) {
    if (!isObject(each)) continue;
    calls.push(calledFacts(each["function"] ?? each["custom"], each["id"]));
  }
  if (isObject(called)) calls.push(calledFacts(called, undefined));
  const text = textOf(message["content"]);
  const written = calls.length > 0 || text === "" ? undefined : callInText(text);
  return {
    /** Characters of the model's own prose. */
    prose: proseIn(message),
    calls,
    /** A call in its text; a harness that runs it gives the result in a message of the user. */
    written: written && callFacts(written),
    /** An edit in its text, which a harness makes and says nothing, unless it could not. */
    edits: calls.length === 0 && holdsEdit(text),
  };
});

/** `function` as the wire has it; custom tools carry free text as `input`. Not validated at the edge, so read with care. */
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
  if (known.observation?.call.hash === call.hash) return known.observation;
  const text = textOf(message["content"]);
  const turn = message.role === "user" || isSystemRole(message.role) ? harnessTurnIn(text) : undefined;
  known.observation = observe(call, turn?.text ?? text);
  return known.observation;
}

/** What a message in the user's role is: words of the user, or a turn of the harness. */
interface UserFacts {
  /** What the harness says: the call that was made, or, without its arguments, the tool that it names. */
  readonly turn:
    | { readonly kind: "result" | "note"; readonly call: CallFacts | undefined; readonly tool: CallFacts | undefined }
    | undefined;
  /** Nothing in it is the user's. */
  readonly isEmpty: boolean;
  /** It only says to go on. */
  readonly continues: boolean;
  /** `[reasoning:high]` stands in the user's own words: inside what a program has added it costs nobody money. */
  readonly asksForHighReasoning: boolean;
}

const knownUserFacts = new Fact<UserFacts>();

/** What a user's message shows, and the ask where it had to be read for that. */
export function readUserMessage(message: ChatMessage): { readonly facts: UserFacts; readonly ask?: string } {
  const known = knownUserFacts.of(message);
  if (known !== undefined) return { facts: known };
  const text = textOf(message["content"]);
  const shown = windowOf(text, askHead, askTail);
  const turn = harnessTurnIn(shown);
  const ask = turn === undefined ? askIn(shown) : "";
  const facts: UserFacts = {
    turn: turn && { kind: turn.kind, call: calledBy("bash", turn.command), tool: calledBy(turn.tool, "") },
    isEmpty: ask === "",
    continues: isContinuePrompt(ask),
    asksForHighReasoning: turn === undefined && asksForHighReasoningIn(text, shown, ask),
  };
  knownUserFacts.set(message, facts);
  return { facts, ask };
}

function calledBy(name: string | undefined, args: string | undefined): CallFacts | undefined {
  return name === undefined || args === undefined ? undefined : callFacts({ name, args });
}

/** Whether a message asks to compact the conversation. */
export const asksToCompact = memoizeByMessage(({ content }) =>
  isCompactionRequest(windowOf(textOf(content), askHead, askTail)),
);

/** Of a long message all is read where the marker stands somewhere in it: what is shown leaves the middle out. */
function asksForHighReasoningIn(text: string, shown: string, ask: string): boolean {
  if (asksForHighReasoning(ask)) return true;
  if (!asksForHighReasoning(text)) return false;
  return ask === "" || (text.length > shown.length && asksForHighReasoning(askIn(text)));
}
