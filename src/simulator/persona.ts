import type { Json, JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";

/**
 * What the simulated models say: pure, the same words for the same request. Different for each role, so that a reader of the
 * answer sees where the gateway sent the request, and always saying that no language model was asked.
 */

export interface AnswerContent {
  /** Thoughts before the answer; only models marked `reasoning` have some. */
  readonly reasoning: string;
  readonly text: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
}

const marker = "[simulated]";

export function answerOf(body: JsonObject, model: Model): AnswerContent {
  const messages = objectsIn(body["messages"]);
  const ask = textOf(messages.findLast((message) => message["role"] === "user")?.["content"]);
  const nothing = { reasoning: "", text: "", toolCalls: [] };
  if (asksForVerdict(messages)) return { ...nothing, text: verdictOn(messages) };
  const reasoning = model.reasoning ? thoughtsOn(ask) : "";
  const tool = toolWanted(body, messages, ask);
  if (tool !== undefined) {
    const args = JSON.stringify(instanceOf(tool.parameters, ask, 0));
    return { reasoning, text: "", toolCalls: [{ name: tool.name, arguments: args }] };
  }
  const format = objectOr(body["response_format"]);
  if (format?.["type"] === "json_object")
    return {
      ...nothing,
      reasoning,
      text: JSON.stringify({ simulated: true, model: model.upstreamId, answer: prose(model, messages, ask) }),
    };
  if (format?.["type"] === "json_schema") {
    const schema = objectOr(objectOr(format["json_schema"])?.["schema"]) ?? {};
    return { ...nothing, reasoning, text: JSON.stringify(instanceOf(schema, ask, 0)) };
  }
  return { ...nothing, reasoning, text: prose(model, messages, ask) };
}

function prose(model: Model, messages: readonly JsonObject[], ask: string): string {
  const last = messages.at(-1);
  const toolResult = last?.["role"] === "tool" ? excerpt(textOf(last["content"]), 160) : undefined;
  const input = toolResult === undefined ? `You asked: “${excerpt(ask, 160)}”` : `The tool answered: “${toolResult}”`;
  switch (model.role) {
    case "scout":
      return `${marker} This is a simulated answer of the scout, the free tier; no language model was called. ${input} In short: done.`;
    case "worker":
      return `${marker} This is a simulated answer of the flash tier in place of ${model.upstreamId}; no language model was called. ${input} A real model would now do the work, quickly and for little money. Set UPSTREAM_API_KEY to reach one.`;
    case "senior":
      return `${marker} This is a simulated answer of the pro tier in place of ${model.upstreamId}; no language model was called. ${input}\n\nA senior model would now\n1. restate the problem and its constraints,\n2. weigh the alternatives and their risks,\n3. work out the change step by step, and\n4. say how to verify it.\n\nSet UPSTREAM_API_KEY to reach a real one.`;
    case "emergency":
      return `${marker} This is a simulated answer of the emergency fallback in place of ${model.upstreamId}; no language model was called. The models before it in the chain could not serve. ${input}`;
  }
}

function thoughtsOn(ask: string): string {
  return `${marker} thinking: the question is about “${excerpt(ask, 80)}”. First what is known, then what could go wrong, then an answer.`;
}

/** The scout's question names both tiers and is short; what callers write themselves seldom does both. */
function asksForVerdict(messages: readonly JsonObject[]): boolean {
  const system = textOf(messages.find((message) => message["role"] === "system")?.["content"]).toLowerCase();
  return (
    /\bflash\b/.test(system) && /\bpro\b/.test(system) && /verdict|tier|difficult|rout|classif|triage/.test(system)
  );
}

const hardWords =
  /\b(architect|concurren|deadlock|race|migrat|security|crypto|distribut|consisten|prove|proof|design|refactor|performance|payment|auth|root cause|intermittent)/i;

function verdictOn(messages: readonly JsonObject[]): string {
  const system = textOf(messages.find((message) => message["role"] === "system")?.["content"]);
  const ask = textOf(messages.findLast((message) => message["role"] === "user")?.["content"]);
  const verdict = hardWords.test(ask) || ask.length > 3_000 ? "pro" : "flash";
  return /json/i.test(system) ? JSON.stringify({ verdict, reason: marker }) : `${verdict.toUpperCase()} ${marker}`;
}

interface Tool {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** A tool is called when `tool_choice` demands it, or when the newest user message contains a word of the tool's name. */
function toolWanted(body: JsonObject, messages: readonly JsonObject[], ask: string): Tool | undefined {
  const tools = objectsIn(body["tools"]).flatMap((tool): Tool[] => {
    const definition = objectOr(tool["function"]);
    const name = definition?.["name"];
    return typeof name === "string" ? [{ name, parameters: objectOr(definition?.["parameters"]) ?? {} }] : [];
  });
  const choice = body["tool_choice"];
  if (choice === "none" || tools.length === 0) return undefined;
  const named = objectOr(objectOr(choice)?.["function"])?.["name"];
  if (named !== undefined) return tools.find((tool) => tool.name === named);
  const after = messages.at(-1)?.["role"];
  if (after === "tool" || after === "function") return undefined;
  if (choice === "required") return tools[0];
  const words = ask.toLowerCase();
  return tools.find((tool) => {
    if (words.includes(tool.name.toLowerCase())) return true;
    const parts = tool.name
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .split(/[^a-z]+/);
    return parts.some((part) => part.length >= 4 && words.includes(part));
  });
}

/** A value that fits a JSON Schema well enough for a demonstration, with what the ask offers filled in. */
function instanceOf(schema: JsonObject, ask: string, depth: number): Json {
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
          typeof name === "string" ? [[name, instanceOf(objectOr(properties[name]) ?? {}, ask, depth + 1)]] : [],
        ),
      );
    }
    case "array":
      return [instanceOf(objectOr(schema["items"]) ?? {}, ask, depth + 1)];
    case "integer":
    case "number":
      return Number(/\d{1,9}/.exec(ask)?.[0] ?? 1);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return named(ask);
  }
}

/** The part of a sentence that is most likely an argument: something quoted, else a name in mid-sentence. */
function named(ask: string): string {
  const quoted = /["“'`]([^"”'`]{1,80})["”'`]/.exec(ask)?.[1];
  const name = /\s(\p{Lu}[\p{L}\p{N}]+)/u.exec(ask)?.[1];
  return quoted ?? name ?? "simulated";
}

function textOf(content: Json | undefined): string {
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
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOr).filter((item) => item !== undefined) : [];
}
