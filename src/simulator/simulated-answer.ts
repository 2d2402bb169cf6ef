import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";

/**
 * What the simulated models say: pure, the same words for the same request. Different for each role, so that a reader
 * of the answer sees where the gateway sent the request, and always saying that no language model was asked.
 */

export interface AnswerContent {
  /** Thoughts before the answer; only models marked `reasoning` have some. */
  readonly reasoning: string;
  readonly text: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
}

const marker = "[simulated]";

export function simulatedAnswer(body: JsonObject, model: Model): AnswerContent {
  const messages = objectsIn(body["messages"]);
  const ask = contentText(messages.findLast((message) => message["role"] === "user")?.["content"]);
  if (asksForVerdict(messages)) return { reasoning: "", text: verdict(messages, ask), toolCalls: [] };
  const reasoning = model.reasoning
    ? `${marker} thinking: the question is about “${excerpt(ask, 80)}”. First what is known, then what could go wrong, then an answer.`
    : "";
  const tool = demandedTool(body);
  if (tool !== undefined) {
    const args = JSON.stringify(schemaInstance(tool.parameters, 0));
    return { reasoning, text: "", toolCalls: [{ name: tool.name, arguments: args }] };
  }
  const format = objectOr(body["response_format"]);
  const schema = objectOr(objectOr(format?.["json_schema"])?.["schema"]) ?? {};
  let text = prose(model, messages, ask);
  if (format?.["type"] === "json_object") {
    text = JSON.stringify({ simulated: true, model: model.upstreamId, answer: text });
  }
  if (format?.["type"] === "json_schema") text = JSON.stringify(schemaInstance(schema, 0));
  return { reasoning, text, toolCalls: [] };
}

/** What each role would be for. */
const closings: { readonly [R in Model["role"]]: string } = {
  scout: "In short: done.",
  worker: "A real model would now do the work, quickly and for little money. Set UPSTREAM_API_KEY to reach one.",
  senior:
    "A senior model would now restate the problem, weigh the alternatives and their risks, work out the change step by step, and say how to verify it. Set UPSTREAM_API_KEY to reach a real one.",
  emergency: "The models before it in the chain could not serve.",
};

const names = {
  scout: "scout",
  worker: "flash tier",
  senior: "pro tier",
  emergency: "emergency fallback",
} as const;

function prose(model: Model, messages: readonly JsonObject[], ask: string): string {
  const last = messages.at(-1);
  const input =
    last?.["role"] === "tool"
      ? `The tool answered: “${excerpt(contentText(last["content"]), 160)}”`
      : `You asked: “${excerpt(ask, 160)}”`;
  return `${marker} This is a simulated answer of the ${names[model.role]} in place of ${model.upstreamId}; no language model was called. ${input} ${closings[model.role]}`;
}

/** The scout's question names both tiers and is short; what callers write themselves seldom does both. */
function asksForVerdict(messages: readonly JsonObject[]): boolean {
  const system = contentText(messages.find((message) => message["role"] === "system")?.["content"]).toLowerCase();
  return (
    /\bflash\b/.test(system) && /\bpro\b/.test(system) && /verdict|tier|difficult|rout|classif|triage/.test(system)
  );
}

const hardWords =
  /\b(architect|concurren|deadlock|race|migrat|security|crypto|distribut|consisten|prove|proof|design|refactor|performance|payment|auth|root cause|intermittent)/i;

function verdict(messages: readonly JsonObject[], ask: string): string {
  const system = contentText(messages.find((message) => message["role"] === "system")?.["content"]);
  const tier = hardWords.test(ask) || ask.length > 3_000 ? "pro" : "flash";
  return /json/i.test(system) ? JSON.stringify({ verdict: tier, reason: marker }) : `${tier.toUpperCase()} ${marker}`;
}

interface Tool {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** A tool is called only where `tool_choice` demands it: agents execute what is called, and nobody has thought about it here. */
function demandedTool(body: JsonObject): Tool | undefined {
  const choice = body["tool_choice"];
  const named = objectOr(objectOr(choice)?.["function"])?.["name"];
  if (named === undefined && choice !== "required") return undefined;
  const tools = objectsIn(body["tools"]).flatMap((tool): Tool[] => {
    const { name, parameters } = objectOr(tool["function"]) ?? {};
    return typeof name === "string" ? [{ name, parameters: objectOr(parameters) ?? {} }] : [];
  });
  return named === undefined ? tools[0] : tools.find((tool) => tool.name === named);
}

/** A value that fits a JSON Schema well enough for a demonstration. No text of the request is in it: it could be a command. */
function schemaInstance(schema: JsonObject, depth: number): Json {
  if (Array.isArray(schema["enum"])) return schema["enum"][0] ?? null;
  if ("const" in schema) return schema["const"] ?? null;
  const declared = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  const type = declared ?? (schema["properties"] === undefined ? "string" : "object");
  if (depth > 8) return null;
  switch (type) {
    case "object": {
      const properties = objectOr(schema["properties"]) ?? {};
      const required = Array.isArray(schema["required"]) ? schema["required"] : Object.keys(properties);
      return Object.fromEntries(
        required.flatMap((name) =>
          typeof name === "string" ? [[name, schemaInstance(objectOr(properties[name]) ?? {}, depth + 1)]] : [],
        ),
      );
    }
    case "array":
      return [schemaInstance(objectOr(schema["items"]) ?? {}, depth + 1)];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return "simulated";
  }
}

function contentText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

function excerpt(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${[...line.slice(0, length)].slice(0, -1).join("")}…`;
}

export function objectOr(value: Json | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOr).filter((item) => item !== undefined) : [];
}
