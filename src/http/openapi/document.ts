import { z } from "zod";
import { version } from "#build.ts";
import { errorRows } from "#domain/errors.ts";
import { RoutingDecision, RoutingTask, RuntimeState } from "#domain/routing.ts";
import { ChatCompletionsBody } from "#http/chat-body/schema.ts";
import { OutcomeReport } from "#http/endpoints/route-outcome.ts";
import { ExplainedDecision } from "#records/decision-record.ts";
import { answerHeaders } from "./headers.ts";
import { json, type Operation, operations, ref } from "./operations.ts";
import * as answers from "./schemas.ts";

/** The schemas that the gateway itself checks with, and those that tests hold its answers to. */
const schemas = {
  // Other tools pass the parser, and are refused by the policy as shipped (`upstream.fields`).
  ChatCompletionRequest: jsonSchema(ChatCompletionsBody.extend({ tools: answers.Functions.nullish() }), "input"),
  ChatCompletion: jsonSchema(answers.ChatCompletion, "output"),
  ChatCompletionChunk: jsonSchema(answers.ChatCompletionChunk, "output"),
  DecisionRequest: jsonSchema(
    z
      .object({ task: orNull(RoutingTask), runtime: orNull(RuntimeState).nullish() })
      .describe("`null` counts as absent."),
    "input",
  ),
  RoutingDecision: jsonSchema(RoutingDecision, "output"),
  OutcomeReport: jsonSchema(OutcomeReport, "input"),
  RouteStatus: jsonSchema(answers.RouteStatus, "output"),
  DecisionRecord: jsonSchema(ExplainedDecision, "output"),
  Model: jsonSchema(answers.Model, "output"),
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
    return [path, { [method]: describe(path, operation) }];
  });
  return {
    openapi: "3.1.1",
    info: {
      title: "Smart Gateway",
      version,
      summary: "An OpenAI-compatible gateway that routes each chat completion by policy.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "This gateway" }],
    paths: Object.fromEntries(paths),
    components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } }, schemas },
  };
}

function describe(path: string, { id, summary, parameters, body, answers, errors = [] }: Operation): object {
  const wantsToken = path.startsWith("/v1/");
  const isDecided = path === "/v1/chat/completions";
  const responses: { [status: string]: object } = {};
  for (const status of [403, ...(wantsToken ? [401] : []), ...errors]) {
    const codes = errorRows.ofRequests.filter((row) => row.status === status).map(({ code }) => `\`${code}\``);
    const description = `With \`error.code\` ${[...new Set(codes)].join(", ")}.`;
    responses[status] = { description, headers: answerHeaders(isDecided, true), content: json("Error") };
  }
  for (const [status, [description, content]] of Object.entries(answers)) {
    const described = typeof content === "string" ? json(content) : content;
    responses[status] = { description, headers: answerHeaders(isDecided, false), content: described };
  }
  const bodyContent = body && { "application/json": { schema: ref(body.schema), example: body.example } };
  // What is undefined is left out of the JSON.
  return {
    operationId: id,
    tags: [wantsToken ? (path.startsWith("/v1/route/") ? "routing" : "chat") : "operation"],
    summary,
    parameters,
    requestBody: bodyContent && { required: true, content: bodyContent },
    security: wantsToken ? [{ bearer: [] }] : undefined,
    responses,
  };
}

/** The same object whose optional fields may be `null`. */
function orNull(object: z.ZodObject): z.ZodObject {
  const fields = Object.entries(object.shape).map(([name, field]) => [
    name,
    z.safeParse(field, undefined).success ? z.nullable(field) : field,
  ]);
  return object.extend(Object.fromEntries(fields));
}

/** OpenAPI 3.1 schemas are JSON Schema 2020-12; the dialect need not be named in each. */
function jsonSchema(schema: z.ZodType, io: "input" | "output"): z.core.JSONSchema.JSONSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}
