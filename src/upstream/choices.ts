import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { cleanMessage, errorIn, garbageFailure, statusFailure } from "./failures.ts";
import { type FinishReason, finishMeaning } from "./finish-reasons.ts";
import { hasOutput, type UpstreamFailure } from "./upstream.ts";

/** More choices than any request has; bounds the memory that an upstream can make the gateway use. */
const maxChoices = 128;

/** A choice in the format's own form. */
interface ReadChoice {
  readonly index: number;
  readonly part: JsonObject;
  readonly finish: FinishReason | undefined;
  /** It came in another form, and was changed. */
  readonly isChanged: boolean;
}

/**
 * Brings a choice into the format's own form, in place: its index, its message or delta with text for content, and its
 * finish reason; or says why it is none. `at` is its place in the list. `begun`: its message has come in pieces, so a
 * whole one repeats them.
 */
export function readChoice(
  choice: Json,
  at: number,
  member: "message" | "delta",
  begun: (index: number) => boolean = () => false,
): ReadChoice | UpstreamFailure {
  if (!isObject(choice)) return garbageFailure("the upstream sent a choice that is not an object");
  const said = choice["index"];
  const index =
    typeof said === "number" ? said : typeof said === "string" && /^\d{1,9}$/.test(said) ? Number(said) : at;
  if (!Number.isInteger(index) || index < 0 || index >= maxChoices)
    return garbageFailure("the upstream sent a choice without a usable index");
  let isChanged = said !== index;
  choice["index"] = index;
  const error = errorIn(choice);
  if (error !== undefined) return error;
  // Clients take an empty error for one.
  if (choice["error"]) isChanged = delete choice["error"];
  let part = choice[member];
  if (!isObject(part)) {
    part = otherPart(choice, member, member === "delta" && begun(index));
    if (part === undefined) return garbageFailure("the upstream's answer has a choice without a message");
    choice[member] = part;
    isChanged = true;
  }
  if (withTextContent(part)) isChanged = true;
  // Gemini has had it under its own name.
  const word = choice["finish_reason"] || choice["finishReason"];
  const meaning = finishMeaning(word);
  if (meaning === "failure") {
    const message = word === "error" ? "an error" : `the finish reason ${cleanMessage(String(word))}`;
    return statusFailure(500, `the upstream ended its answer with ${message}`);
  }
  const finish = meaning === "none" ? undefined : meaning;
  if ((choice["finish_reason"] ?? undefined) !== finish) {
    choice["finish_reason"] = finish ?? null;
    isChanged = true;
  }
  return { index, part, finish, isChanged };
}

/** Takes what a choice has in the place of its message, or of its delta: the other of the two, or the text of older completions. */
function otherPart(choice: JsonObject, member: "message" | "delta", begun: boolean): JsonObject | undefined {
  const { message, text, delta } = choice;
  let part: JsonObject | undefined;
  if (isObject(message)) part = begun ? {} : deltaOf(message);
  else if (isObject(delta)) part = delta;
  else if (typeof text === "string") part = { content: text };
  else if (member === "delta") return {};
  delete choice["message"];
  delete choice["delta"];
  delete choice["text"];
  return part;
}

/** A message as a delta: each tool call gets its index. */
function deltaOf(message: JsonObject): JsonObject {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: calls.map((call, index) => (isObject(call) ? { index, ...call } : call)) };
}

/** Turns content that is a list of parts (Mistral's with `thinking`, Cohere's, Anthropic's) into text and reasoning. True if it was one. */
function withTextContent(part: JsonObject): boolean {
  const { content } = part;
  if (typeof content !== "object" || content === null) return false;
  const [texts, thoughts]: [string[], string[]] = [[], []];
  for (const item of Array.isArray(content) ? content : [content]) {
    const isThought = isObject(item) && /^(?:thinking|reasoning|thought)$/.test(`${item["type"]}`);
    (isThought ? thoughts : texts).push(textIn(item));
  }
  const [text, reasoning] = [texts.join(""), thoughts.join("")];
  part["content"] = text === "" ? null : text;
  if (reasoning !== "" && !hasOutput(part, ["reasoning", "reasoning_content"])) part["reasoning"] = reasoning;
  return true;
}

function textIn(value: Json | undefined, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth > 3 || typeof value !== "object" || value === null) return "";
  if (Array.isArray(value)) return value.map((item) => textIn(item, depth + 1)).join("");
  return textIn(value["text"] ?? value["thinking"] ?? value["reasoning"] ?? value["content"], depth + 1);
}

/** How a choice ended of which only the message shows it; undefined for calls whose arguments are not whole. */
export function finishOf(message: JsonObject): FinishReason | undefined {
  const { tool_calls, function_call } = message;
  const calls = Array.isArray(tool_calls) ? tool_calls.map((call) => (isObject(call) ? call["function"] : call)) : [];
  if (isObject(function_call)) return hasWholeArguments(function_call) ? "function_call" : undefined;
  if (calls.length === 0) return "stop";
  return calls.every(hasWholeArguments) ? "tool_calls" : undefined;
}

function hasWholeArguments(call: Json | undefined): boolean {
  const args = isObject(call) ? call["arguments"] : undefined;
  if (typeof args !== "string") return isObject(args);
  try {
    JSON.parse(args);
    return true;
  } catch {
    return false;
  }
}

/** Members that come piece by piece. Of other texts the first that is not empty counts. */
const pieces: ReadonlySet<string> = new Set(
  "content reasoning reasoning_content refusal arguments text thinking summary data".split(" "),
);
/** Items of a list are looked for among so many, and objects are copied so deep: more than any delta has. */
const maxItems = 128;
const maxDepth = 8;

/** Adds a delta, or a whole chunk, to what has come before, and gives that back. Items of lists are known by their own index. */
export function addDelta(whole: JsonObject, delta: JsonObject, depth = 0): JsonObject {
  for (const [name, value] of Object.entries(delta)) {
    const before = whole[name] ?? null;
    if (Array.isArray(value)) whole[name] = joinItems(Array.isArray(before) ? before : [], value, depth);
    else if (isObject(value) && depth < maxDepth)
      whole[name] = addDelta(isObject(before) ? before : {}, value, depth + 1);
    else if (typeof before === "string" && before !== "") {
      if (pieces.has(name) && typeof value === "string") whole[name] = before + value;
    } else if (value !== null) whole[name] = value;
    else whole[name] ??= null;
  }
  return whole;
}

function joinItems(items: Json[], more: readonly Json[], depth: number): Json[] {
  for (const [at, each] of more.entries()) {
    // Gemini, Mistral and older Ollamas leave out the index of a call.
    const item =
      isObject(each) && each["function"] !== undefined && each["index"] == null ? { ...each, index: at } : each;
    const known = isObject(item) ? items.slice(0, maxItems).find((before) => isSameItem(before, item)) : undefined;
    if (!isObject(item) || depth >= maxDepth) items.push(item);
    else if (isObject(known)) addDelta(known, item, depth + 1);
    else items.push(addDelta({}, item, depth + 1));
  }
  return items;
}

/** Several makers give all calls the same index, or each piece of one call an id of its own: a new id with a name is a new call. */
function isSameItem(known: Json, { index, id, type, function: call }: JsonObject): boolean {
  if (!isObject(known) || typeof index !== "number" || known["index"] !== index) return false;
  if (type && known["type"] && type !== known["type"]) return false;
  return !(isObject(call) && call["name"]) || !id || !known["id"] || id === known["id"];
}
