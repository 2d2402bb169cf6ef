import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { completes, fails } from "#simulator/behaviours.ts";
import type { AnswerContent } from "#simulator/simulated-answer.ts";
import type { Behaviour, RecordedRequest } from "#simulator/simulated-exchange.ts";

/**
 * A model that can do one thing: append a `multiply` function to calc.py, with whatever tool the agent offers. It sends reasoning
 * before each answer, so that reasoning in texts or files is detected.
 */

export const thought = "I should look at the file first, then decide.";
/** The content of the edit; the file has it if the answer arrived complete. */
export const edited = "def multiply(a, b):\n    return a * b\n";
export const closing = "Added multiply to calc.py.";

const edit = "printf '\\n\\ndef multiply(a, b):\\n    return a * b\\n' >> calc.py && echo MULTIPLY_ADDED";
const check = "cat calc.py";
const original = "def add(a, b):\n    return a + b\n";

/** Undefined for the scout and for structured output, which the simulator answers itself. */
export function scriptedAnswer(
  request: RecordedRequest,
  isScout: (model: Json | undefined) => boolean,
  toolTurns: number,
): Behaviour | undefined {
  const body = request.body ?? {};
  if (isScout(body["model"]) || isObject(body["response_format"])) return undefined;
  return completes({ ...emptyAnswer, reasoning: thought, ...answerTo(body, toolTurns) });
}

/** The registry of `--thinking`: the second model is one that refuses reasoning. */
export const thinkingRegistry = `models:
  vendor_v4_flash: { tool_turn_reasoning: required }
  vendor_v4_pro: { upstream_id: plain/model, tool_turn_reasoning: refused }
`;

/**
 * What hosts refuse in a run with tools: DeepSeek's, messages with calls that come back without their reasoning; the plain
 * model's, any reasoning. DeepSeek's is down after the second result of a tool and the plain model after the third, so that the
 * loop goes to the other model and back.
 */
export function thinkingHostRefusal({ body }: RecordedRequest): Behaviour | undefined {
  const messages = objectsIn(body?.["messages"]);
  const isThinking = String(body?.["model"]).startsWith("deepseek/");
  if (toolResultsIn(messages) === (isThinking ? 2 : 3)) return fails(503);
  const ofAssistant = messages.filter(({ role }) => role === "assistant");
  const hasReasoning = (message: JsonObject) => typeof message["reasoning_content"] === "string";
  const isMissing = ofAssistant.some(
    (message) => objectsIn(message["tool_calls"]).length > 0 && !hasReasoning(message),
  );
  if (isThinking && isMissing)
    return fails(400, "The `reasoning_content` in the thinking mode must be passed back to the API.");
  const isGiven = ofAssistant.some((message) => hasReasoning(message) || message["reasoning"] != null);
  return !isThinking && isGiven ? fails(400, "property 'reasoning_content' is unsupported") : undefined;
}

function toolResultsIn(messages: readonly JsonObject[]): number {
  return messages.filter(({ role }) => role === "tool").length;
}

const emptyAnswer: AnswerContent = { reasoning: "", text: "", toolCalls: [] };

/** An edit, checks until `toolTurns` results of tools have come back, and a closing word. */
function answerTo(body: JsonObject, toolTurns: number): Partial<AnswerContent> {
  const messages = objectsIn(body["messages"]);
  const text = messages.map((message) => textIn(message["content"])).join("\n");
  const tools = objectsIn(body["tools"]).flatMap((tool) => (isObject(tool["function"]) ? [tool["function"]] : []));
  const acted = messages.some(
    ({ role, content }) => role === "tool" || (role !== "assistant" && textIn(content).includes("MULTIPLY_ADDED")),
  );
  const checks = acted && toolResultsIn(messages) < toolTurns && toolTurns > 1;
  if (tools.length > 0) return acted && !checks ? closingCall(tools, text) : toolCall(tools, checks ? check : edit);
  if (acted) return { text: text.includes("`complete` tool") ? `${closing}\n\`\`\`complete\n\`\`\`` : closing };
  return { text: editInText(text) };
}

/** A shell first, which most agents have; otherwise any tool that writes a file. */
function toolCall(tools: readonly JsonObject[], command: string): Partial<AnswerContent> {
  const shell = tools.find(({ name }) => /bash|shell|command|terminal|execute/i.test(String(name)));
  const write = tools.find((tool) => /write|create/i.test(String(tool["name"])) && "content" in propertiesOf(tool));
  const tool = shell ?? write;
  return tool === undefined ? { text: closing } : { toolCalls: [callOf(tool, command)] };
}

/** Some agents end only when they call a tool for that. */
function closingCall(tools: readonly JsonObject[], text: string): Partial<AnswerContent> {
  const shell = tools.find(({ name }) => name === "bash");
  const marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
  if (shell !== undefined && text.includes(marker))
    return { toolCalls: [{ name: "bash", arguments: JSON.stringify({ command: `echo ${marker}` }) }] };
  const finish = tools.find(({ name }) =>
    /^(attempt_completion|final_answer|finish|task_complete)$/.test(String(name)),
  );
  return finish === undefined ? { text: closing } : { toolCalls: [callOf(finish, edit)] };
}

function callOf(tool: JsonObject, command: string): { name: string; arguments: string } {
  const properties = propertiesOf(tool);
  const parameters = isObject(tool["parameters"]) ? tool["parameters"] : {};
  const required = Array.isArray(parameters["required"]) ? parameters["required"].map(String) : [];
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  const entries = names.map((name) => [name, argumentFor(name, properties[name], command)]);
  return { name: String(tool["name"]), arguments: JSON.stringify(Object.fromEntries(entries)) };
}

function argumentFor(name: string, schema: Json | undefined, command: string): Json {
  const value = /command|cmd|script|code/i.test(name)
    ? command
    : /path|file/i.test(name)
      ? "calc.py"
      : name === "content"
        ? `${original}\n\n${edited}`
        : undefined;
  const { type, enum: allowed, items } = isObject(schema) ? schema : {};
  if (type === "array") return [argumentFor(name, items, command)];
  if (value !== undefined) return value;
  if (Array.isArray(allowed)) return allowed[0] ?? null;
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return 10;
  return closing;
}

/** Agents without tools say in their prompt how to write an edit. */
function editInText(text: string): string {
  if (/commit message/i.test(text)) return "feat: add multiply to calc.py";
  if (text.includes("<<<<<<< SEARCH"))
    return `calc.py\n\`\`\`python\n<<<<<<< SEARCH\n${original}=======\n${original}\n\n${edited}>>>>>>> REPLACE\n\`\`\`\n`;
  if (text.includes("final_answer("))
    return `<code>\nwith open("calc.py", "a") as file:\n    file.write("\\n\\ndef multiply(a, b):\\n    return a * b\\n")\nfinal_answer("${closing}")\n</code>`;
  if (/```(?:shell|bash)|gptme|Open Interpreter/.test(text)) return `\`\`\`shell\n${edit}\n\`\`\``;
  return closing;
}

function propertiesOf(tool: JsonObject): JsonObject {
  const parameters = isObject(tool["parameters"]) ? tool["parameters"] : {};
  return isObject(parameters["properties"]) ? parameters["properties"] : {};
}

function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textIn(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}
