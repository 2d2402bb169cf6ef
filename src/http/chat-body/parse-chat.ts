import { z } from "zod";
import {
  type ChatMessage,
  type ChatRequest,
  type GatewayFields,
  isObject,
  type Json,
  type JsonObject,
  type MessageRole,
  messageRoles,
  metadataTaskFields,
} from "#domain/chat.ts";
import { Alias, aliases, FailureClass, RoutingTask } from "#domain/routing.ts";
import {
  type JsonShape,
  maxJsonDepth,
  quoteLongIntegers,
  shapeOfJson,
  startsTooDeep,
} from "#http/request/json-shape.ts";
import { runAtOnce, runInTurns } from "#platform/event-loop-turns.ts";
import { hasMoreValuesThan } from "#platform/json-values.ts";

/**
 * The body of `POST /v1/chat/completions`, twice: `ChatCompletionsBody` is the published schema (OpenAPI), and
 * `parseChatRequest` is the check on the hot path, written by hand because a coding agent's body of hundreds of
 * messages is walked for every turn. A property test holds the two to the same verdict.
 */

/** Ids end up in counters, records and headers: short, without control characters or halves of surrogate pairs. */
const idPattern = /^[^\p{Cc}\p{Cs}]{1,256}$/u;
const id = z.string().regex(idPattern, "must be 1 to 256 characters without control characters");

/** No model writes more; a number beyond it would only make a hold that no budget can take. */
const maxOutputTokens = 2_147_483_647;
const maxChoices = 128;

const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const RefusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });

const Message = z.looseObject({
  role: z.enum(messageRoles),
  content: z.union([z.string(), z.array(z.discriminatedUnion("type", [TextPart, RefusalPart]))]).nullish(),
});

const task = RoutingTask.shape;
const Metadata = z
  .looseObject({
    sensitive: z.boolean().nullish().describe("Must be false for free models; true when absent."),
    reasoning: z.enum(["auto", "high", "AUTO", "HIGH"]).nullish().describe("high asks for the pro tier."),
    routing: z.enum(["auto", "pro", "flash", "free"]).nullish().describe("A hint only."),
    session_id: id.nullish().describe("Same as the header X-Smart-Gateway-Session."),
    goal_id: id.nullish().describe("Same as the header X-Smart-Gateway-Goal."),
    task_id: id.nullish().describe("Same as the header X-Task-Id."),
    repo_id: id.nullish().describe("For the log."),
    kind: task.kind.unwrap().nullish(),
    explicit_route: task.explicit_route.unwrap().nullish(),
    repo_context_present: task.repo_context_present.unwrap().nullish(),
    repo_free_opt_in: task.repo_free_opt_in.unwrap().nullish(),
    risk_level: task.risk_level.unwrap().nullish(),
    blast_radius: task.blast_radius.unwrap().nullish(),
    reasoning_requirement: task.reasoning_requirement.unwrap().nullish(),
    ambiguity: task.ambiguity.unwrap().nullish(),
    dependency_depth: task.dependency_depth.unwrap().nullish(),
    verification_difficulty: task.verification_difficulty.unwrap().nullish(),
    estimated_tool_depth: task.estimated_tool_depth.unwrap().nullish(),
  })
  .describe("Gateway routing metadata. Other keys are the caller's and travel unchanged.");

const outputTokens = z.int().min(0).max(maxOutputTokens).nullish().describe("0 counts as not set.");

export const ChatCompletionsBody = z
  .looseObject({
    model: Alias.describe("One of the four routing aliases."),
    messages: z.array(Message).min(1).describe("Chat messages; text content only."),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    n: z.int().min(1).max(maxChoices).nullish(),
    best_of: z.int().min(1).max(maxChoices).nullish().describe("How many answers are written, and paid for."),
    max_tokens: outputTokens,
    max_completion_tokens: outputTokens,
    stop: z.union([z.string(), z.array(z.string())]).nullish(),
    tools: z
      .array(z.looseObject({}))
      .nullish()
      .describe("Function-calling tool definitions, forwarded unchanged. Tools of another type are refused."),
    tool_choice: z.union([z.string(), z.looseObject({})]).nullish(),
    response_format: z.looseObject({}).nullish(),
    user: z.string().nullish(),
    metadata: Metadata.nullish(),
  })
  .describe(
    "A chat completion request. Fields not named here are forwarded unchanged and not validated, but for those that may " +
      "change the model, the provider's terms or the price.",
  );

export interface ChatInput {
  /** The body, decoded. */
  readonly text: string;
  /** Its size as received, in bytes. */
  readonly bytes: number;
  /** Most JSON values that it may hold. */
  readonly maxValues: number;
  readonly headers: Headers;
  readonly requestId: string;
  readonly receivedAtMs: number;
}

export type ParsedChat =
  | { readonly kind: "ok"; readonly request: ChatRequest }
  | { readonly kind: "refused"; readonly status: 400 | 413 | 422; readonly detail: string; readonly param?: string };

/**
 * A chat request from its body and headers. A body of an unsupported shape (not JSON, not an object, content other than
 * text) is refused with 400 before anything that is merely wrong, which gives 422. `null` counts as absent.
 */
export function parseChatRequest(input: ChatInput): ParsedChat {
  return runAtOnce(parsing(input));
}

/** The same for a large body, in turns of the event loop. */
export function parseLargeChatRequest(input: ChatInput): Promise<ParsedChat> {
  return runInTurns(parsing(input));
}

function* parsing(input: ChatInput): Generator<undefined, ParsedChat> {
  if (hasMoreValuesThan(input.text, input.maxValues)) {
    return startsTooDeep(input.text) ? tooDeep() : refused(413, undefined, tooManyValues(input.maxValues));
  }
  yield;
  const shape = shapeOfJson(input.text, maxJsonDepth);
  if (shape.tooDeep) return tooDeep();
  yield;
  let body: unknown;
  try {
    body = JSON.parse(input.text);
  } catch {
    // The parser's message quotes the body, so it stays here.
    return refused(400, undefined, "The body is not valid JSON.");
  }
  if (!isObject(body)) return refused(400, undefined, "The body must be a JSON object.");
  if (shape.infinite) return infinite(body);
  yield;

  const messages = problemOfMessages(body["messages"]);
  if (messages?.status === 400) return messages;
  const problem =
    problemOfModel(body["model"]) ?? messages ?? problemOfFields(body) ?? problemOfMetadata(body["metadata"]);
  if (problem !== undefined) return problem;

  const routing = gatewayFields((body["metadata"] ?? noMetadata) as z.infer<typeof Metadata>, input.headers); // checked above
  if ("status" in routing) return routing;
  let spelled: Json | undefined;
  if (shape.longIntegers) {
    yield;
    const quoted = quoteLongIntegers(input.text);
    yield;
    spelled = JSON.parse(quoted) as Json; // it was JSON before
    yield;
  }
  const request = chatRequest(body as Checked, input, shape, routing); // checked above, field by field
  return { kind: "ok", request: spelled === undefined ? request : { ...request, spelled } };
}

function tooDeep(): Problem {
  return refused(400, undefined, `The body nests deeper than ${maxJsonDepth} levels.`);
}

/** Why a body of too many values is refused. */
export function tooManyValues(maxValues: number): string {
  return `The body holds more than ${maxValues} JSON values: objects, arrays, texts and numbers (MAX_REQUEST_VALUES).`;
}

/** What the checks have established. */
type Checked = JsonObject & { model: Alias; messages: ChatMessage[] };

/** `1e20` is written anew as 100000000000000000000: no number grows by more bytes than this. */
const longestExpansion = 24;

function chatRequest(body: Checked, input: ChatInput, shape: JsonShape, routing: GatewayFields): ChatRequest {
  const streamOptions = body["stream_options"];
  return {
    requestId: input.requestId,
    alias: body.model,
    stream: body["stream"] === true,
    body,
    bodyBytes: input.bytes + shape.exponents * longestExpansion,
    // Many servers take a limit of 0 for no limit, so it is none that money could be held for.
    requestedOutputTokens: largerOf(body["max_completion_tokens"], body["max_tokens"]) || null,
    choices: largerOf(body["n"], body["best_of"]) ?? 1,
    ...(shape.cacheControl ? { writesCache: true } : {}),
    wantsUsage: isObject(streamOptions) && streamOptions["include_usage"] === true,
    routing,
    receivedAtMs: input.receivedAtMs,
  };
}

/** The larger of those that are numbers; null when none is. */
function largerOf(a: Json | undefined, b: Json | undefined): number | null {
  if (typeof a !== "number") return typeof b === "number" ? b : null;
  return typeof b === "number" ? Math.max(a, b) : a;
}

type Problem = Extract<ParsedChat, { kind: "refused" }>;

function refused(status: 400 | 413 | 422, param: string | undefined, detail: string): Problem {
  return { kind: "refused", status, detail, ...(param === undefined ? {} : { param }) };
}

/** 422: names the field and says what it must be. Never repeats the value, which may be a prompt or a secret. */
function wrong(param: string, mustBe: string): Problem {
  return refused(422, param, `${param} ${mustBe}.`);
}

/** A number that cannot be forwarded as it was sent. Its field is named where that is a name of the API, not the caller's. */
function infinite(body: JsonObject): Problem {
  const isInfinite = (value: Json | undefined): boolean =>
    typeof value === "number"
      ? !Number.isFinite(value)
      : typeof value === "object" && value !== null && Object.values(value).some(isInfinite);
  const name = Object.keys(fields).find((field) => isInfinite(body[field]));
  return refused(422, name, `${name ?? "The body"} holds a number that is too large for a double (such as 1e400).`);
}

function problemOfModel(model: Json | undefined): Problem | undefined {
  if (typeof model === "string" && (aliases as readonly string[]).includes(model)) return undefined;
  const known = aliases.join(", ");
  return wrong("model", model == null ? `is required; it is one of ${known}` : `must be one of ${known}`);
}

const knownRoles: ReadonlySet<unknown> = new Set<MessageRole>(messageRoles);

/** The first unsupported shape (400) in any message, else the first thing that is wrong (422). */
function problemOfMessages(messages: Json | undefined): Problem | undefined {
  if (messages == null) return wrong("messages", "is required");
  if (!Array.isArray(messages)) return wrong("messages", "must be an array of messages");
  if (messages.length === 0) return wrong("messages", "must hold at least one message");
  let first: Problem | undefined;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (!isObject(message)) {
      first ??= wrong(`messages[${index}]`, "must be an object with a role");
      continue;
    }
    const content = message["content"];
    if (Array.isArray(content)) {
      const problem = problemOfParts(content, index);
      if (problem?.status === 400) return problem;
      first ??= problem;
    } else if (typeof content !== "string" && content != null) {
      first ??= wrong(`messages[${index}].content`, "must be a string, an array of text parts or null");
    }
    if (!knownRoles.has(message["role"])) {
      first ??= wrong(`messages[${index}].role`, `must be one of ${messageRoles.join(", ")}`);
    }
  }
  return first;
}

function problemOfParts(parts: readonly Json[], message: number): Problem | undefined {
  let first: Problem | undefined;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const type = isObject(part) ? part["type"] : undefined;
    if (!isObject(part) || (type !== "text" && type !== "refusal")) {
      const at = `messages[${message}].content[${index}]`;
      return refused(400, at, `${at} is not a text part: only text content is supported (no images, audio or files).`);
    }
    if (typeof part[type] !== "string") {
      first ??= wrong(`messages[${message}].content[${index}].${type}`, "must be a string");
    }
  }
  return first;
}

/** What a present, non-null field must be; `undefined` when it is that. In the order in which problems are named. */
const fields: Readonly<Record<string, (value: Json) => string | undefined>> = {
  stream: (value) => (typeof value === "boolean" ? undefined : "must be true or false"),
  stream_options: (value) => {
    if (!isObject(value)) return "must be an object";
    const include = value["include_usage"];
    return include == null || typeof include === "boolean" ? undefined : "include_usage must be true or false";
  },
  temperature: (value) => (typeof value === "number" ? undefined : "must be a number"),
  top_p: (value) => (typeof value === "number" ? undefined : "must be a number"),
  n: (value) => wholeBetween(value, 1, maxChoices),
  best_of: (value) => wholeBetween(value, 1, maxChoices),
  max_tokens: (value) => wholeBetween(value, 0, maxOutputTokens),
  max_completion_tokens: (value) => wholeBetween(value, 0, maxOutputTokens),
  stop: (value) =>
    typeof value === "string" || (Array.isArray(value) && value.every((each) => typeof each === "string"))
      ? undefined
      : "must be a string or an array of strings",
  tools: (value) =>
    Array.isArray(value) && value.every(isObject) ? undefined : "must be an array of tool definitions",
  tool_choice: (value) => (typeof value === "string" || isObject(value) ? undefined : "must be a string or an object"),
  response_format: (value) => (isObject(value) ? undefined : "must be an object"),
  user: (value) => (typeof value === "string" ? undefined : "must be a string"),
  metadata: (value) => (isObject(value) ? undefined : "must be an object"),
};
const fieldChecks = Object.entries(fields);

function problemOfFields(body: JsonObject): Problem | undefined {
  for (const [name, complaint] of fieldChecks) {
    const value = body[name];
    if (value == null) continue;
    const mustBe = complaint(value);
    if (mustBe !== undefined) return wrong(name, mustBe);
  }
  return undefined;
}

function wholeBetween(value: Json, least: number, most: number): string | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most
    ? undefined
    : `must be a whole number from ${least} to ${most}`;
}

/** Only the gateway's own keys are looked at, and rarely sent, so the published schema itself can judge them. */
function problemOfMetadata(metadata: Json | undefined): Problem | undefined {
  if (metadata == null) return undefined;
  const parsed = Metadata.safeParse(metadata);
  if (parsed.success) return undefined;
  const issue = parsed.error.issues[0];
  const key = issue?.path[0];
  const param = key === undefined ? "metadata" : `metadata.${String(key)}`;
  return refused(422, param, `${param} ${key === undefined ? "must be an object" : mustBe(String(key))}.`);
}

/** What a metadata key of ours must be, in words that do not repeat what was sent. */
function mustBe(key: string): string {
  switch (key) {
    case "sensitive":
    case "repo_context_present":
    case "repo_free_opt_in":
      return "must be true or false (a JSON boolean, not text)";
    case "reasoning":
      return "must be auto or high";
    case "routing":
      return "must be one of auto, pro, flash, free";
    case "kind":
    case "explicit_route":
    case "risk_level":
    case "blast_radius":
      return `must be one of ${task[key].unwrap().options.join(", ")}`;
    case "estimated_tool_depth":
      return "must be a whole number from 0";
    case "reasoning_requirement":
    case "ambiguity":
    case "dependency_depth":
    case "verification_difficulty":
      return "must be a number from 0 to 1";
    default:
      return "must be 1 to 256 characters of text without control characters";
  }
}

const noMetadata: z.infer<typeof Metadata> = {};

/** What headers and metadata say to the gateway. A header beats metadata; X-Goal-Id beats X-Smart-Gateway-Goal. */
function gatewayFields(metadata: z.infer<typeof Metadata>, headers: Headers): GatewayFields | Problem {
  const ids = idHeaders(headers);
  if ("status" in ids) return ids;
  const forcePro = flagHeader(headers, "X-Pro");
  if (typeof forcePro === "object") return forcePro;
  const scoutFirst = flagHeader(headers, "X-Scout");
  if (typeof scoutFirst === "object") return scoutFirst;
  const failureClass = headerValue(headers, "X-Failure-Class");
  const knownClass = FailureClass.options.find((option) => option === failureClass);
  if (failureClass !== undefined && knownClass === undefined) {
    return wrong("X-Failure-Class", `must be one of ${FailureClass.options.join(", ")}`);
  }
  const sameErrorCount = headerValue(headers, "X-Same-Error-Count");
  if (sameErrorCount !== undefined && !/^\d{1,9}$/.test(sameErrorCount)) {
    return wrong("X-Same-Error-Count", "must be a whole number from 0");
  }

  const sessionId = ids.session ?? metadata.session_id ?? agentSession(headers);
  const goalId = ids.ownGoal ?? ids.goal ?? metadata.goal_id;
  const taskId = ids.task ?? metadata.task_id;
  // Field by field: spreading nothing for each absent one costs more than all of the checks.
  const fields: { -readonly [name in keyof GatewayFields]: GatewayFields[name] } = {
    forcePro,
    scoutFirst,
    taskFields: metadata === noMetadata ? noTaskFields : taskFieldsIn(metadata),
  };
  if (sessionId != null) fields.sessionId = sessionId;
  if (goalId != null) fields.goalId = goalId;
  if (taskId != null) fields.taskId = taskId;
  if (metadata.repo_id != null) fields.repoId = metadata.repo_id;
  if (metadata.sensitive != null) fields.sensitive = metadata.sensitive;
  if (metadata.reasoning != null) fields.reasoning = isHigh(metadata.reasoning) ? "high" : "auto";
  if (metadata.routing != null) fields.routingHint = metadata.routing;
  if (knownClass !== undefined) fields.failureClass = knownClass;
  if (sameErrorCount !== undefined) fields.sameErrorCount = Number(sameErrorCount);
  return fields;
}

const noTaskFields: GatewayFields["taskFields"] = {};

function taskFieldsIn(metadata: z.infer<typeof Metadata>): GatewayFields["taskFields"] {
  return Object.fromEntries(metadataTaskFields.flatMap((key) => (metadata[key] == null ? [] : [[key, metadata[key]]])));
}

function isHigh(reasoning: string): boolean {
  return reasoning === "high" || reasoning === "HIGH";
}

/** A header's text; undefined when it is absent or empty, as templates and proxies leave it. */
function headerValue(headers: Headers, name: string): string | undefined {
  return headers.get(name) || undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * A header's text in UTF-8, as nearly every client sends what is not ASCII. The runtime reads each byte as a character of
 * its own (Latin-1); bytes that are no UTF-8 are left at that.
 */
function utf8HeaderValue(headers: Headers, name: string): string | undefined {
  const value = headerValue(headers, name);
  if (value === undefined || !/[\x80-\xff]/.test(value) || /[^\0-\xff]/.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}

/** Boolean text, as any language prints it: true, True. */
function flagHeader(headers: Headers, name: string): boolean | Problem {
  const value = headerValue(headers, name)?.toLowerCase();
  if (value === undefined || value === "false") return false;
  return value === "true" ? true : wrong(name, "must be true or false");
}

/**
 * The session that an agent names without knowing of this gateway: opencode and kilo send `X-Session-Id`. One that is no
 * usable id is left alone, since it was not meant for us.
 */
function agentSession(headers: Headers): string | undefined {
  const value = headerValue(headers, "X-Session-Id");
  return value !== undefined && idPattern.test(value) ? value : undefined;
}

interface Ids {
  session?: string;
  goal?: string;
  ownGoal?: string;
  task?: string;
}

const idHeaderNames = [
  ["session", "X-Smart-Gateway-Session"],
  ["goal", "X-Smart-Gateway-Goal"],
  ["ownGoal", "X-Goal-Id"],
  ["task", "X-Task-Id"],
] as const;

function idHeaders(headers: Headers): Ids | Problem {
  const ids: Ids = {};
  for (const [key, name] of idHeaderNames) {
    const value = utf8HeaderValue(headers, name);
    if (value === undefined) continue;
    if (!idPattern.test(value)) return wrong(name, "must be 1 to 256 characters without control characters");
    ids[key] = value;
  }
  return ids;
}
