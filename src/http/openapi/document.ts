import { z } from "zod";
import { type ErrorCode, errorMeanings } from "#domain/codes/error-codes.ts";
import { DecisionRequest, RoutingDecision } from "#domain/routing.ts";
import { ChatCompletionsBody } from "#http/chat-body/schema.ts";
import { OutcomeReport } from "#http/endpoints/route-outcome.ts";
import { ExplainedDecision } from "#records/decision-record.ts";
import { version } from "../../../package.json";
import { commonHeaders, decisionHeaders, errorHeaders } from "./headers.ts";
import { foreignCodes, json, type Operation, operations, ref } from "./operations.ts";
import * as answers from "./schemas.ts";

/** The schemas that the gateway itself checks with, and those that tests hold its answers to. */
const schemas = {
  // Other tools pass the parser, and are refused by the policy as shipped (`upstream.fields`).
  ChatCompletionRequest: jsonSchema(ChatCompletionsBody.extend({ tools: answers.Functions.nullish() }), "input"),
  ChatCompletion: jsonSchema(answers.ChatCompletion, "output"),
  ChatCompletionChunk: jsonSchema(answers.ChatCompletionChunk, "output"),
  DecisionRequest: withNulls(jsonSchema(DecisionRequest, "input")),
  RoutingDecision: jsonSchema(RoutingDecision, "output"),
  OutcomeReport: jsonSchema(OutcomeReport, "input"),
  RouteStatus: jsonSchema(answers.RouteStatus, "output"),
  DecisionRecord: jsonSchema(ExplainedDecision, "output"),
  ModelList: jsonSchema(answers.ModelList, "output"),
  Health: jsonSchema(answers.HealthAnswer, "output"),
  Live: jsonSchema(answers.LiveAnswer, "output"),
  Ready: jsonSchema(answers.ReadyAnswer, "output"),
  Error: jsonSchema(answers.ErrorAnswer, "output"),
};

/** The OpenAPI 3.1 document behind `GET /openapi.json`. */
export function openApiDocument(): object {
  const paths = Object.entries(operations).map(([route, operation]) => {
    const [method = "", path = ""] = route.split(" ");
    return [path, { [method]: describe(operation) }];
  });
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
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "Any token of at least AUTH_MIN_TOKEN_LENGTH characters (8), or one of AUTH_KEYS_FILE where that is set.",
        },
      },
      schemas,
    },
  };
}

function describe({ id, tag, summary, description, parameters, body, isDecided, ...operation }: Operation): object {
  const isOpen = tag === "operation";
  const headers = { ...commonHeaders, ...(isDecided ? decisionHeaders : {}) };
  const responses: { [status: string]: object } = {};
  const errors = { 403: foreignCodes, ...(isOpen ? {} : { 401: ["unauthorized"] as const }), ...operation.errors };
  for (const [status, codes] of Object.entries(errors)) {
    const meanings = codes.map((code) => `\`${code}\`: ${meaningOf(code)}`);
    responses[status] = {
      description: meanings.join("\n\n"),
      headers: { ...headers, ...errorHeaders },
      content: json("Error"),
    };
  }
  for (const [status, [text, content]] of Object.entries(operation.answers)) {
    const described = typeof content === "string" ? json(content) : content;
    responses[status] = { description: text, headers, ...(described === undefined ? {} : { content: described }) };
  }
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: ref(body.schema), example: body.example } },
          },
        }),
    ...(isOpen ? {} : { security: [{ bearer: [] }] }),
    responses,
  };
}

function meaningOf(code: ErrorCode): string {
  const meanings: { readonly [code: string]: { readonly meaning: string } } = errorMeanings;
  return meanings[code]?.meaning ?? "The decision refuses the request; other causes are in `X-Smart-Gateway-Cause`.";
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
    const isNullable = JSON.stringify(inner.anyOf ?? null).includes('{"type":"null"}');
    return [
      name,
      required.includes(name) || isNullable ? inner : { anyOf: [inner, { type: "null" as const }] },
    ] as const;
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}
