import { z } from "zod";
import { DecisionRequest, RoutingDecision, taskKinds } from "#domain/routing.ts";
import { ChatCompletionsBody } from "#http/chat-body/schema.ts";
import { OutcomeReport } from "#http/request/outcome-request.ts";
import { ExplainedDecision } from "#records/decision-record.ts";
import { version } from "../../../package.json";
import { chatParameters } from "./chat-parameters.ts";
import * as examples from "./examples.ts";
import {
  ChatCompletion,
  ChatCompletionChunk,
  ErrorAnswer,
  HealthAnswer,
  LiveAnswer,
  ModelList,
  ReadyAnswer,
  RouteStatus,
} from "./schemas.ts";

/** The OpenAPI 3.1 document behind `GET /openapi.json`, made of the schemas that the gateway itself checks with. */
export function openApiDocument(): object {
  return {
    openapi: "3.1.1",
    info: {
      title: "Smart Gateway",
      version,
      summary: "An OpenAI-compatible gateway that routes each chat completion by policy.",
      description:
        "Privacy gate, complexity score, hard rules, budget and model health decide which model answers. " +
        "The dry run says where a task would go, and why, without calling anybody.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "This gateway" }],
    tags: [
      { name: "chat", description: "OpenAI-compatible." },
      { name: "routing", description: "Why a request goes where it goes." },
      { name: "operation", description: "For monitors and orchestrators; no authorization." },
    ],
    paths: {
      "/v1/chat/completions": { post: chatCompletions },
      "/v1/route/decision": { post: routeDecision },
      "/v1/route/outcome": { post: routeOutcome },
      "/v1/route/status": { get: routeStatus },
      "/v1/route/decisions/{id}": { get: decisionRecord },
      "/v1/models": { get: models },
      "/healthz": { get: healthz },
      "/livez": { get: livez },
      "/readyz": { get: readyz },
      "/metrics": { get: metrics },
      "/openapi.json": { get: openApi },
    },
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "Any token of at least AUTH_MIN_TOKEN_LENGTH characters (8), or one of AUTH_KEYS_FILE where that is set.",
        },
      },
      schemas: {
        ChatCompletionRequest: jsonSchema(ChatCompletionsBody, "input"),
        ChatCompletion: jsonSchema(ChatCompletion, "output"),
        ChatCompletionChunk: jsonSchema(ChatCompletionChunk, "output"),
        DecisionRequest: withNulls(jsonSchema(DecisionRequest, "input")),
        RoutingDecision: jsonSchema(RoutingDecision, "output"),
        OutcomeReport: jsonSchema(OutcomeReport, "input"),
        RouteStatus: jsonSchema(RouteStatus, "output"),
        DecisionRecord: jsonSchema(ExplainedDecision, "output"),
        ModelList: jsonSchema(ModelList, "output"),
        Health: jsonSchema(HealthAnswer, "output"),
        Live: jsonSchema(LiveAnswer, "output"),
        Ready: jsonSchema(ReadyAnswer, "output"),
        Error: jsonSchema(ErrorAnswer, "output"),
      },
    },
  };
}

/** OpenAPI 3.1 schemas are JSON Schema 2020-12; the dialect need not be named in each. */
function jsonSchema(schema: z.ZodType, io: "input" | "output"): z.core.JSONSchema.JSONSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}

/** The same, with `null` for every field that may be left out, at any depth: the dry run takes it for absent. */
function withNulls(schema: z.core.JSONSchema.JSONSchema): z.core.JSONSchema.JSONSchema {
  const { properties, required = [] } = schema;
  if (properties === undefined) return schema;
  const fields = Object.entries(properties).map(([name, field]) => {
    const inner = typeof field === "object" ? withNulls(field) : {};
    const orNull = required.includes(name) || isNullable(inner) ? inner : { anyOf: [inner, { type: "null" as const }] };
    return [name, orNull] as const;
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

function isNullable(schema: z.core.JSONSchema.JSONSchema): boolean {
  return JSON.stringify(schema.anyOf ?? null).includes('{"type":"null"}');
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const header = (description: string, schema: object = { type: "string" }) => ({ description, schema });
const bearer = [{ bearer: [] }];

const requestIdHeader = { "X-Request-Id": header("The caller's own, if it is short and plain, else a new one.") };
const commonHeaders = {
  ...requestIdHeader,
  "X-Smart-Gateway-Demo": header("`true` while answers come from the simulated upstream of demo mode."),
};
const decisionHeaders = {
  "X-Smart-Gateway-Decision-Id": header("Names the decision's record."),
  "X-Smart-Gateway-Action": header("The decision's action.", decisionField("action")),
  "X-Smart-Gateway-Model": header(
    "Internal key of the chosen model, or of the fallback model that was called last. The scout's where one was asked. Empty on refusals.",
  ),
  "X-Smart-Gateway-Cause": header("The rule that fired.", decisionField("cause")),
  "X-Smart-Gateway-Score": header("The complexity score, 0 to 100.", { type: "number", minimum: 0, maximum: 100 }),
  "X-Smart-Gateway-Kind": header("The kind of work that the request was taken for.", {
    type: "string",
    enum: [...taskKinds],
  }),
  "X-Smart-Gateway-Rule": header("The hard rules that fired, comma-separated; empty when none did."),
  "X-Smart-Gateway-Answered-By": header(
    "Internal key of the model that answered, or that failed last. Empty where none was called, or a stream began before its answer.",
  ),
  "X-Smart-Gateway-Redactions": header("How many values were taken out before anything was sent.", {
    type: "integer",
    minimum: 0,
  }),
};
const shouldRetry = header("`false` where waiting cannot help; SDKs then do not try again.", {
  type: "string",
  enum: ["false"],
});
const retryHeaders = {
  "Retry-After": header("Seconds to wait, where waiting can help.", { type: "integer", minimum: 0 }),
  "x-should-retry": shouldRetry,
};

const decided = { ...decisionHeaders, ...retryHeaders };

function decisionField(field: "action" | "cause"): object {
  return jsonSchema(RoutingDecision.shape[field], "output");
}

function answer(description: string, schema: string, more: { headers?: object; example?: unknown } = {}) {
  return {
    description,
    headers: { ...commonHeaders, ...more.headers },
    content: {
      "application/json": { schema: ref(schema), ...(more.example === undefined ? {} : { example: more.example }) },
    },
  };
}

/** An error: why it comes, and one of the sentences it may come with. */
function failure(description: string, detail: string, headers: object = retryHeaders) {
  return answer(description, "Error", { headers, example: { detail } });
}

const unauthorized = failure(
  "`Authorization` is missing, malformed or too short.",
  "Send `Authorization: Bearer <API_KEY>` with a token of at least 8 characters.",
  {
    "WWW-Authenticate": header("`Bearer`"),
    "x-should-retry": shouldRetry,
  },
);
const tooLarge = failure(
  "The body has more bytes than MAX_REQUEST_BYTES, or more JSON values than MAX_REQUEST_VALUES.",
  "The request body is larger than the limit of 16777216 bytes.",
);
const foreign = failure(
  "`Host` names a host that the gateway does not answer to (ALLOWED_HOSTS), or `Origin` is not its own.",
  "The Host header names a host that this gateway does not answer to (protection from DNS rebinding). Use localhost, 127.0.0.1 or [::1], or add the name to ALLOWED_HOSTS.",
  { "x-should-retry": shouldRetry },
);
const overloaded = "No room for the request now: too many streams, too much memory, or MAX_BYTES_IN_FLIGHT is reached";

/** What callers with a token may ask for. */
function secured<T extends { readonly responses: object }>(operation: T) {
  return {
    ...operation,
    security: bearer,
    responses: { 401: unauthorized, 403: foreign, ...operation.responses },
  };
}

function probe(operationId: string, summary: string, responses: object) {
  return { operationId, tags: ["operation"], summary, responses: { ...responses, 403: foreign } };
}

const chatCompletions = secured({
  operationId: "createChatCompletion",
  tags: ["chat"],
  summary: "A chat completion, from the model that policy picks",
  description:
    "The usual chat-completions request with one of four aliases as `model`. Fields not named in the schema are " +
    "forwarded unchanged, but for those that may change the model, the provider's terms or the price (`models`, `plugins`, " +
    "`service_tier` …): they get 422 unless the operator's policy allows them (`upstream.fields`). With `stream: true` the answer is server-sent events, one chunk per `data:` line, the last " +
    "of them `data: [DONE]`. A header beats the `metadata` key that says the same.",
  parameters: chatParameters,
  requestBody: {
    required: true,
    content: { "application/json": { schema: ref("ChatCompletionRequest"), examples: examples.chatRequests } },
  },
  responses: {
    200: {
      description: "The upstream's answer, whole or as a stream.",
      headers: { ...commonHeaders, ...decisionHeaders },
      content: {
        "application/json": { schema: ref("ChatCompletion"), example: examples.completion },
        // The schema is that of each event's data; OpenAPI 3.1 has no words for the frame around it.
        "text/event-stream": { schema: ref("ChatCompletionChunk"), example: examples.stream },
      },
    },
    400: failure(
      "Not JSON, not an object, the wrong content type, or content other than text, such as images.",
      "messages[0].content[1] is not a text part: only text content is supported (no images, audio or files).",
      { "x-should-retry": shouldRetry },
    ),
    403: failure(
      "Refused by policy: privacy, budget, exhausted attempts, or no model that can serve; the cause is in the headers. " +
        "Without them: a `Host` or `Origin` that is not the gateway's.",
      'A free model was asked for, but this request is sensitive, as every request is by default. Send "metadata": {"sensitive": false} if it holds nothing private, or use smart-router.',
      decided,
    ),
    413: tooLarge,
    422: failure(
      "A field, header or metadata value is missing, wrong or not allowed.",
      "max_tokens must be a whole number from 0 to 2147483647.",
      decided,
    ),
    500: failure(
      "The upstream refused with a 4xx that a repeat cannot mend, or all attempts ended in an upstream error.",
      "The upstream refused the request (400): this field is not supported.",
      decided,
    ),
    502: failure(
      "The upstream could not be reached, or broke off, in every attempt.",
      "The upstream could not be reached, also after repeated attempts.",
      decided,
    ),
    503: failure(
      `${overloaded}; no model has capacity, or the budget store is unavailable.`,
      "The gateway is overloaded. Try again shortly.",
      decided,
    ),
    504: failure(
      "The upstream took too long in every attempt.",
      "The upstream took too long, also after repeated attempts.",
      decided,
    ),
  },
});

const routeDecision = secured({
  operationId: "decideRoute",
  tags: ["routing"],
  summary: "Where a task would go, and why",
  description:
    "The dry run: the same decision as for a chat request, with nothing spent, no upstream call, and nothing written. " +
    "Unknown keys are ignored and `null` counts as absent.",
  requestBody: {
    required: true,
    content: { "application/json": { schema: ref("DecisionRequest"), examples: examples.decisionRequests } },
  },
  responses: {
    200: {
      ...answer("The decision.", "RoutingDecision"),
      content: { "application/json": { schema: ref("RoutingDecision"), examples: examples.decisions } },
    },
    413: tooLarge,
    422: failure("Not JSON, or a field is missing or wrong.", "task.ambiguity: must be at most 1"),
    503: failure(`${overloaded}.`, "The gateway is overloaded. Try again shortly."),
  },
});

const routeOutcome = secured({
  operationId: "reportOutcome",
  tags: ["routing"],
  summary: "What became of an answer",
  description:
    "Recorded beside the decision, for `smart-gateway policy learn`; the last report counts. No routing changes by itself. " +
    "Unknown keys are ignored.",
  requestBody: {
    required: true,
    content: { "application/json": { schema: ref("OutcomeReport"), example: examples.outcomeReport } },
  },
  responses: {
    204: { description: "Recorded.", headers: commonHeaders },
    404: failure(
      "No such decision is recorded.",
      "No such decision is recorded: decision_id is X-Smart-Gateway-Decision-Id of an answer (not of housekeeping) within the retention (policy: records).",
    ),
    413: failure(
      "The body has more than 16,384 bytes.",
      "The request body is larger than the limit of 16777216 bytes.",
    ),
    422: failure("Not JSON, or a field is missing or wrong.", "outcome: must be one of solved, failed"),
    503: failure(`${overloaded}, or the database is unavailable.`, "The gateway is overloaded. Try again shortly."),
  },
});

const routeStatus = secured({
  operationId: "getStatus",
  tags: ["routing"],
  summary: "What a goal and the day have spent, and which model the goal was last sent to",
  description: "For status bars: one read of the ledger. Without a goal, that of requests without one.",
  parameters: ["session", "goal"].map((name) => ({
    name,
    in: "query",
    required: false,
    description: `The ${name}, as requests name it.`,
    schema: { type: "string", minLength: 1, maxLength: 256 },
  })),
  responses: {
    200: answer("The accounts; amounts in US dollars.", "RouteStatus", { example: examples.routeStatus }),
    422: failure("A parameter is empty or too long.", "goal: must have 1 to 256 characters."),
    503: failure("The database is unavailable.", "The gateway is overloaded. Try again shortly."),
  },
});

const decisionRecord = secured({
  operationId: "getDecisionRecord",
  tags: ["routing"],
  summary: "Why a request went where it went, and what it cost",
  description:
    "What is recorded of a decision, with its explanation: a sentence, what each stage of the pipeline said, and what would " +
    "have changed it. Numbers and words of the gateway's own; never text of a prompt or an answer.",
  parameters: [
    {
      name: "id",
      in: "path",
      required: true,
      description: "`X-Smart-Gateway-Decision-Id` or `X-Request-Id` of an answer.",
      schema: { type: "string" },
    },
  ],
  responses: {
    200: answer("The record.", "DecisionRecord"),
    404: failure(
      "No such decision is recorded.",
      "No such decision is recorded: the id is X-Smart-Gateway-Decision-Id or X-Request-Id of an answer, at least a second old, within the retention (policy: records).",
    ),
    503: failure("The database is unavailable.", "The gateway is overloaded. Try again shortly."),
  },
});

const models = secured({
  operationId: "listModels",
  tags: ["chat"],
  summary: "The four routing aliases",
  responses: {
    200: answer("The aliases.", "ModelList", { example: examples.modelList }),
  },
});

const healthz = probe("getHealth", "How the gateway, its store and its models are", {
  200: answer("Requests can be served.", "Health", { example: examples.health }),
  503: answer("The budget store is unavailable, or no model of the senior fallback chain can serve.", "Health"),
});

const livez = probe("getLiveness", "Whether the process lives", {
  200: answer("It does.", "Live", { example: { status: "ok" } }),
  503: answer("Its budget store has failed for good: only a restart mends it.", "Live"),
});

const readyz = probe("getReadiness", "Whether to send requests here", {
  200: answer("Yes.", "Ready", { example: { status: "ok" } }),
  503: answer("No: draining before it ends, or without its budget store.", "Ready"),
});

const metrics = probe("getMetrics", "Metrics for Prometheus", {
  200: {
    description: "Prometheus text.",
    headers: commonHeaders,
    content: { "text/plain": { schema: { type: "string" } } },
  },
});

const openApi = probe("getOpenApi", "This document", {
  200: {
    description: "OpenAPI 3.1.",
    headers: commonHeaders,
    content: { "application/json": { schema: { type: "object" } } },
  },
});
