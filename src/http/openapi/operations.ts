import { chatParameters } from "./headers.ts";

/** What `GET /openapi.json` says of each endpoint. Those below `/v1/` want a token; all others are open. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly parameters?: readonly object[];
  /** The name of the body's schema, and an example of it. */
  readonly body?: { readonly schema: string; readonly example: object };
  /** By status: what it says, and the name of its schema, or its content. */
  readonly answers: { readonly [status: number]: readonly [description: string, content?: string | object] };
  /** The statuses of errors, beside those of every operation. */
  readonly errors?: readonly number[];
}

export const ref = (schema: string) => ({ $ref: `#/components/schemas/${schema}` });
export const json = (schema: string) => ({ "application/json": { schema: ref(schema) } });

/** One event of a stream, as readers of server-sent events give it. */
const event = {
  type: "object",
  required: ["data"],
  properties: {
    data: {
      type: "string",
      description:
        "A chunk. The last event is `data: [DONE]`, which is no JSON. Lines that begin with a colon are comments.",
      contentMediaType: "application/json",
      contentSchema: ref("ChatCompletionChunk"),
    },
  },
};
const idSchema = { type: "string", minLength: 1, maxLength: 256 };

/** By method and path, in the order of the document. */
export const operations: { readonly [route: string]: Operation } = {
  "post /v1/chat/completions": {
    id: "createChatCompletion",
    summary: "A chat completion, from the model that policy picks",
    parameters: chatParameters,
    body: {
      schema: "ChatCompletionRequest",
      example: { model: "smart-router", messages: [{ role: "user", content: "Say hello." }] },
    },
    answers: {
      200: ["The upstream's answer.", { ...json("ChatCompletion"), "text/event-stream": { schema: event } }],
    },
    errors: [400, 413, 422, 429, 500, 502, 503, 504],
  },
  "post /v1/route/decision": {
    id: "decideRoute",
    summary: "The dry run: where a task would go, and why; nothing is spent, called or written",
    body: { schema: "DecisionRequest", example: { task: { task_id: "t-1", instruction: "Rename a variable." } } },
    answers: { 200: ["The decision.", "RoutingDecision"] },
    errors: [413, 422, 429, 503],
  },
  "post /v1/route/outcome": {
    id: "reportOutcome",
    summary: "What became of an answer, for `smart-gateway policy learn`; the last report counts",
    body: {
      schema: "OutcomeReport",
      example: { decision_id: "0198f5a0-6c5e-7c11-9d2e-0c5a7d1f2b3c", outcome: "solved", score: 0.9 },
    },
    answers: { 204: ["Recorded."] },
    errors: [404, 413, 422, 429, 503],
  },
  "get /v1/route/status": {
    id: "getStatus",
    summary: "What a goal and the day have spent, and which model the goal was last sent to",
    parameters: ["session", "goal"].map((name) => ({ name, in: "query", required: false, schema: idSchema })),
    answers: { 200: ["The accounts; amounts in US dollars.", "RouteStatus"] },
    errors: [422, 503],
  },
  "get /v1/route/decisions/{id}": {
    id: "getDecisionRecord",
    summary: "Why a request went where it went, and what it cost, by decision id or request id",
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
    answers: { 200: ["The record.", "DecisionRecord"] },
    errors: [404, 503],
  },
  "get /v1/models": {
    id: "listModels",
    summary: "The four routing aliases",
    answers: { 200: ["The aliases.", "ModelList"] },
  },
  "get /v1/models/{id}": {
    id: "getModel",
    summary: "One of the routing aliases",
    parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
    answers: { 200: ["The alias.", "Model"] },
    errors: [404],
  },
  "get /healthz": {
    id: "getHealth",
    summary: "How the gateway, its store and its models are",
    answers: { 200: ["Requests can be served.", "Health"], 503: ["They cannot.", "Health"] },
  },
  "get /livez": {
    id: "getLiveness",
    summary: "Whether the process lives",
    answers: { 200: ["It does.", "Live"], 503: ["Its budget store has failed: only a restart mends it.", "Live"] },
  },
  "get /readyz": {
    id: "getReadiness",
    summary: "Whether to send requests here",
    answers: { 200: ["Yes.", "Ready"], 503: ["No: draining before it ends, or without its budget store.", "Ready"] },
  },
  "get /metrics": {
    id: "getMetrics",
    summary: "Metrics for Prometheus",
    answers: { 200: ["Prometheus text.", { "text/plain": { schema: { type: "string" } } }] },
  },
  "get /openapi.json": {
    id: "getOpenApi",
    summary: "This document",
    answers: { 200: ["OpenAPI 3.1.", { "application/json": { schema: { type: "object" } } }] },
  },
};
