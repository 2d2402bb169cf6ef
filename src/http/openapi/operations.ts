import { type ErrorCode, errorMeanings } from "#domain/codes/error-codes.ts";
import { chatParameters } from "./headers.ts";

/** What `GET /openapi.json` says of each endpoint. */
export interface Operation {
  readonly id: string;
  /** Those of `operation` are open; all others want a token. */
  readonly tag: "chat" | "routing" | "operation";
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly object[];
  /** The name of the body's schema, and an example of it. */
  readonly body?: { readonly schema: string; readonly example: object };
  /** By status: what it says, and the name of its schema, or its content. */
  readonly answers: { readonly [status: number]: readonly [description: string, content?: string | object] };
  /** By status: the codes of the errors, beside those of every operation. */
  readonly errors?: { readonly [status: number]: readonly ErrorCode[] };
  /** The answers have the decision's headers. */
  readonly isDecided?: true;
}

export const ref = (schema: string) => ({ $ref: `#/components/schemas/${schema}` });
export const json = (schema: string) => ({ "application/json": { schema: ref(schema) } });
export const foreignCodes: readonly ErrorCode[] = ["host_not_allowed", "origin_not_allowed"];

/** One event of a stream, as readers of server-sent events give it. */
const event = {
  type: "object",
  required: ["data"],
  properties: {
    data: {
      type: "string",
      description: "A chunk; `[DONE]` in the last event. Lines that begin with a colon keep the connection alive.",
      contentMediaType: "application/json",
      contentSchema: ref("ChatCompletionChunk"),
    },
  },
};

/** The codes of a status that only one operation has. */
function codesWith(status: number): ErrorCode[] {
  const codes = Object.keys(errorMeanings) as (keyof typeof errorMeanings)[]; // the table's own keys
  return codes.filter((code) => (errorMeanings[code].status as readonly number[]).includes(status));
}

/** By method and path, in the order of the document. */
export const operations: { readonly [route: string]: Operation } = {
  "post /v1/chat/completions": {
    id: "createChatCompletion",
    tag: "chat",
    summary: "A chat completion, from the model that policy picks",
    description:
      "The usual chat-completions request with one of four aliases as `model`. Fields not named in the schema are " +
      "forwarded unchanged, but for those that may change the model, the provider's terms or the price (`models`, `plugins`, " +
      "`service_tier` …): they get 422 unless the operator's policy allows them (`upstream.fields`). With `stream: true` the answer is server-sent events, one chunk per `data:` line, the last " +
      "of them `data: [DONE]`. A header beats the `metadata` key that says the same.",
    parameters: chatParameters,
    body: {
      schema: "ChatCompletionRequest",
      example: { model: "smart-router", messages: [{ role: "user", content: "Say hello." }] },
    },
    answers: {
      200: [
        "The upstream's answer, whole or as a stream.",
        { ...json("ChatCompletion"), "text/event-stream": { schema: event } },
      ],
    },
    errors: {
      400: ["invalid_request"],
      403: [...foreignCodes, "privacy_gate_failed", "privacy_free_denied"],
      413: ["request_too_large", "invalid_request", "too_many_secrets"],
      422: ["invalid_request", "field_refused", "credential_not_replaceable"],
      500: codesWith(500),
      502: codesWith(502),
      503: ["overloaded", "budget_store_unavailable", "no_capacity", "shutting_down"],
      504: codesWith(504),
    },
    isDecided: true,
  },
  "post /v1/route/decision": {
    id: "decideRoute",
    tag: "routing",
    summary: "Where a task would go, and why",
    description:
      "The dry run: the same decision as for a chat request, with nothing spent, no upstream call, and nothing written. " +
      "Unknown keys are ignored and `null` counts as absent.",
    body: {
      schema: "DecisionRequest",
      example: { task: { task_id: "t-1", instruction: "Rename a variable." } },
    },
    answers: { 200: ["The decision.", "RoutingDecision"] },
    errors: { 413: ["request_too_large", "invalid_request"], 422: ["invalid_request"], 503: ["overloaded"] },
  },
  "post /v1/route/outcome": {
    id: "reportOutcome",
    tag: "routing",
    summary: "What became of an answer",
    description:
      "Recorded beside the decision, for `smart-gateway policy learn`; the last report counts. No routing changes by itself. " +
      "Unknown keys are ignored.",
    body: {
      schema: "OutcomeReport",
      example: { decision_id: "0198f5a0-6c5e-7c11-9d2e-0c5a7d1f2b3c", outcome: "solved", score: 0.9 },
    },
    answers: { 204: ["Recorded."] },
    errors: {
      404: ["unknown_decision"],
      413: ["request_too_large"],
      422: ["invalid_request"],
      503: ["overloaded", "outcome_store_unavailable"],
    },
  },
  "get /v1/route/status": {
    id: "getStatus",
    tag: "routing",
    summary: "What a goal and the day have spent, and which model the goal was last sent to",
    description: "For status bars: one read of the ledger. Without a goal, that of requests without one.",
    parameters: ["session", "goal"].map((name) => ({
      name,
      in: "query",
      required: false,
      description: `The ${name}, as requests name it.`,
      schema: { type: "string", minLength: 1, maxLength: 256 },
    })),
    answers: { 200: ["The accounts; amounts in US dollars.", "RouteStatus"] },
    errors: { 422: ["invalid_request"], 503: ["budget_store_unavailable"] },
  },
  "get /v1/route/decisions/{id}": {
    id: "getDecisionRecord",
    tag: "routing",
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
    answers: { 200: ["The record.", "DecisionRecord"] },
    errors: { 404: ["unknown_decision"], 503: ["records_unavailable"] },
  },
  "get /v1/models": {
    id: "listModels",
    tag: "chat",
    summary: "The four routing aliases",
    answers: { 200: ["The aliases.", "ModelList"] },
  },
  "get /healthz": {
    id: "getHealth",
    tag: "operation",
    summary: "How the gateway, its store and its models are",
    answers: {
      200: ["Requests can be served.", "Health"],
      503: ["The budget store is unavailable, or no model of the senior fallback chain can serve.", "Health"],
    },
  },
  "get /livez": {
    id: "getLiveness",
    tag: "operation",
    summary: "Whether the process lives",
    answers: { 200: ["It does.", "Live"], 503: ["Its budget store has failed: only a restart mends it.", "Live"] },
  },
  "get /readyz": {
    id: "getReadiness",
    tag: "operation",
    summary: "Whether to send requests here",
    answers: { 200: ["Yes.", "Ready"], 503: ["No: draining before it ends, or without its budget store.", "Ready"] },
  },
  "get /metrics": {
    id: "getMetrics",
    tag: "operation",
    summary: "Metrics for Prometheus",
    answers: { 200: ["Prometheus text.", { "text/plain": { schema: { type: "string" } } }] },
  },
  "get /openapi.json": {
    id: "getOpenApi",
    tag: "operation",
    summary: "This document",
    answers: { 200: ["OpenAPI 3.1.", { "application/json": { schema: { type: "object" } } }] },
  },
};
