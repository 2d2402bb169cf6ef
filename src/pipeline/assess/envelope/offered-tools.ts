import { isObject, type Json } from "#domain/chat.ts";
import { worksInRepository } from "#pipeline/assess/run-signals/calls/tools.ts";
import type { OfferedTools } from "./conversation-types.ts";

/** So many tools are looked at. */
const maxTools = 256;

const noTools: OfferedTools = { count: 0, workInRepository: false };

/** A tool that does nothing: a program reads its arguments as the answer, in the form of a schema. */
const answerTool = "respond_in_schema";

/** What a request offers, in the new style or the old; a tool that only gives the answer its form is none. */
export function offeredTools(tools: Json | undefined, functions: Json | undefined): OfferedTools {
  if (tools === undefined && functions === undefined) return noTools;
  const names = namesOf(Array.isArray(tools) ? tools : Array.isArray(functions) ? functions : []);
  return { count: names.length, workInRepository: names.some(worksInRepository) };
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
