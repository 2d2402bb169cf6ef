import { type ChatMessage, isObject, isSystemRole, type Json } from "#domain/chat.ts";
import { callInText, harnessTurnIn, holdsEdit, resultBehindCall } from "#pipeline/assess/envelope/harness-turn.ts";
import { textOf, windowOf } from "#pipeline/assess/envelope/text-window.ts";
import type { ToolCall } from "./calls/tool-call.ts";

/** How much of a tool result is read: its status and its last error stand at the edges. */
const resultHead = 500;
const resultTail = 1_500;

/** What a message of a run says: calls, or the result of one. */
export interface RunMessage {
  readonly calls: readonly IdentifiedCall[];
  readonly result?: RunResult;
}

export interface IdentifiedCall {
  /** Under which its result comes. */
  readonly id: string | undefined;
  readonly call: ToolCall;
}

export interface RunResult {
  /** The id of the call that it answers; or which one it is where it has no id. */
  readonly answers: { readonly id: string } | "last_call" | "no_call";
  /** The part that is read. */
  readonly text: string;
}

/** Reads message `index`, and the one before it where the harness gives back the result of a call that the model wrote out. */
export function runMessageAt(messages: readonly ChatMessage[], index: number): RunMessage | undefined {
  const message = messages[index];
  switch (message?.role) {
    case "assistant":
      return assistantMessage(message);
    case "tool":
    case "function": {
      const id = message["tool_call_id"];
      const answers = typeof id === "string" ? { id } : "last_call";
      return { calls: noCalls, result: { answers, text: shown(textOf(message["content"])) } };
    }
    case "user":
      return harnessMessage(textOf(message["content"]), messages[index - 1]);
    case "system":
    case "developer": {
      // gptme gives results in this role, several in a row where the model has made several calls.
      const call = assistantBefore(messages, index);
      return call === undefined ? undefined : harnessMessage(textOf(message["content"]), call);
    }
    default:
      return undefined;
  }
}

/** A message in which a harness gives the result of a call that the model has written into the message before. */
function harnessMessage(text: string, before: ChatMessage | undefined): RunMessage | undefined {
  const turn = harnessTurnIn(text);
  if (turn === undefined) return undefined;
  if (turn.kind === "note") return { calls: noCalls, result: { answers: "no_call", text: shown(text) } };
  const { command } = turn;
  const call = command === undefined ? callInText(before, turn.tool) : { name: "bash", args: command };
  return { calls: [{ id: undefined, call }], result: { answers: "last_call", text: shown(turn.text) } };
}

/** Results of one message's calls in a row. Without a bound, thousands of messages of the system would cost their square. */
const maxResultsInRow = 100;

/** The assistant's message in front of one or more of the system's; undefined where the user's stands there. */
function assistantBefore(messages: readonly ChatMessage[], index: number): ChatMessage | undefined {
  let at = index - 1;
  while (isSystemRole(messages[at]?.role) && index - at < maxResultsInRow) at--;
  return messages[at]?.role === "assistant" ? messages[at] : undefined;
}

function assistantMessage(message: ChatMessage): RunMessage {
  const calls = callsIn(message);
  if (calls.length > 0) return { calls };
  const content = textOf(message["content"]);
  // The harness makes such an edit, and says nothing unless it could not.
  if (holdsEdit(content))
    return { calls: [{ id: undefined, call: editInText }], result: { answers: "last_call", text: "" } };
  const result = resultBehindCall(content);
  if (result === undefined) return { calls };
  const call = callInText(message, undefined);
  return { calls: [{ id: undefined, call }], result: { answers: "last_call", text: shown(result) } };
}

const editInText: ToolCall = { name: "edit", args: "" };

function shown(text: string): string {
  return windowOf(text, resultHead, resultTail);
}

function callsIn(message: ChatMessage): readonly IdentifiedCall[] {
  const listed = message["tool_calls"];
  const called = message["function_call"];
  if (listed === undefined && called === undefined) return noCalls;
  const calls: IdentifiedCall[] = [];
  for (const each of Array.isArray(listed) ? listed : []) {
    if (!isObject(each)) continue;
    const id = each["id"];
    calls.push({ id: typeof id === "string" ? id : undefined, call: callOf(each["function"] ?? each["custom"]) });
  }
  if (isObject(called)) calls.push({ id: undefined, call: callOf(called) });
  return calls;
}

/** `function` as the wire has it; custom tools carry free text as `input`. Not validated at the edge, so read with care. */
function callOf(called: Json | undefined): ToolCall {
  if (!isObject(called)) return { name: "", args: "" };
  const args = called["arguments"] ?? called["input"];
  return { name: stringOr(called["name"], ""), args: stringOr(args, "") };
}

function stringOr(value: Json | undefined, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

const noCalls: readonly IdentifiedCall[] = [];
