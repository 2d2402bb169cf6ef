import { isObject, type Json } from "#domain/chat.ts";
import { knownMemberOf } from "#domain/received/known-members.ts";
import type { OfferedTools } from "#pipeline/assess/envelope/conversation-types.ts";
import { worksInRepository } from "#pipeline/assess/run-signals/calls/tools.ts";

/** So many tools are looked at. */
const maxTools = 256;

const noTools: OfferedTools = { count: 0, workInRepository: false };

/** An agent offers the same tools with every turn: what they are is remembered as long as they are known. */
const remembered = new WeakMap<object, OfferedTools>();

/** A tool that does nothing: a program reads its arguments as the answer, in the form of a schema. */
const answerTool = "respond_in_schema";

/** What a request offers, in the new style or the old; a tool that only gives the answer its form is none. */
export function offeredTools(tools: Json | undefined, functions: Json | undefined): OfferedTools {
  if (tools === undefined && functions === undefined) return noTools;
  const known = knownMemberOf(tools);
  const before = known && remembered.get(known);
  if (before !== undefined) return before;
  const names = namesOf(Array.isArray(tools) ? tools : Array.isArray(functions) ? functions : []);
  const offered = { count: names.length, workInRepository: names.some(worksInRepository) };
  if (known !== undefined) remembered.set(known, offered);
  return offered;
}

function namesOf(tools: readonly Json[]): string[] {
  const names: string[] = [];
  for (const tool of tools.slice(0, maxTools)) {
    if (!isObject(tool)) continue;
    const inner = isObject(tool["function"]) ? tool["function"] : isObject(tool["custom"]) ? tool["custom"] : tool;
    const name = inner["name"];
    if (typeof name === "string" && name !== answerTool) names.push(name);
  }
  return names;
}
