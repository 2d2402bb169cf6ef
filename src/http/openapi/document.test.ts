import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { DecisionRequest } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aSnapshot } from "#pipeline/decide/fixtures.ts";
import { openApiDocument } from "./document.ts";
import * as examples from "./examples.ts";
import { ChatCompletionChunk } from "./schemas.ts";

interface Media {
  readonly schema: { readonly $ref?: string };
  readonly example?: unknown;
  readonly examples?: { readonly [name: string]: { readonly value: unknown } };
}
interface Body {
  readonly content: { readonly [type: string]: Media };
}
interface Operation {
  readonly operationId: string;
  readonly security?: unknown;
  readonly requestBody?: Body;
  readonly responses: { readonly [status: string]: Body & { readonly headers?: object } };
}
interface Document {
  readonly openapi: string;
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: { readonly [name: string]: z.core.JSONSchema.JSONSchema } };
}

const text = JSON.stringify(openApiDocument());
const document = JSON.parse(text) as Document; // our own document, as a reader parses it
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

describe("the document", () => {
  test("is OpenAPI 3.1 and names every endpoint", () => {
    expect(document.openapi).toStartWith("3.1.");
    expect(operations.map(({ name }) => name)).toEqual([
      "POST /v1/chat/completions",
      "POST /v1/route/decision",
      "POST /v1/route/outcome",
      "GET /v1/route/status",
      "GET /v1/route/decisions/{id}",
      "GET /v1/models",
      "GET /healthz",
      "GET /livez",
      "GET /readyz",
      "GET /metrics",
      "GET /openapi.json",
    ]);
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  });

  test("requires a bearer token exactly where the gateway does", () => {
    const secured = operations.filter(({ operation }) => operation.security !== undefined).map(({ name }) => name);
    expect(secured).toEqual([
      "POST /v1/chat/completions",
      "POST /v1/route/decision",
      "POST /v1/route/outcome",
      "GET /v1/route/status",
      "GET /v1/route/decisions/{id}",
      "GET /v1/models",
    ]);
  });
});

describe("the examples", () => {
  const shown = operations.flatMap(({ name, operation }) =>
    [...(operation.requestBody ? [operation.requestBody] : []), ...Object.values(operation.responses)].flatMap((body) =>
      Object.entries(body.content ?? {}).flatMap(([type, media]): [string, string, unknown][] => {
        if (type !== "application/json" || media.schema.$ref === undefined) return [];
        const values = Object.values(media.examples ?? {}).map(({ value }) => value);
        if (media.example !== undefined) values.push(media.example);
        return values.map((value) => [name, media.schema.$ref?.split("/").at(-1) ?? "", value]);
      }),
    ),
  );

  test.each(shown)("of %s are valid by the published schema %s: %j", (_, schema, value) => {
    const published = z.fromJSONSchema(document.components.schemas[schema] ?? {});
    expect(published.safeParse(value).error?.issues).toBeUndefined();
  });

  test("of decisions are what the dry run decides, under the same names", () => {
    for (const [name, { value }] of Object.entries(examples.decisionRequests)) {
      const { task, runtime } = DecisionRequest.parse(value);
      const expected = Object.entries(examples.decisions).find(([key]) => key === name)?.[1].value;
      expect<unknown>(decide(task, runtime, aSnapshot())).toEqual(expected);
    }
  });

  test("of a stream are chunks, and [DONE] at the end", () => {
    const events = examples.stream.split("\n\n").filter(Boolean);
    expect(events.at(-1)).toBe("data: [DONE]");
    for (const event of events.slice(0, -1)) {
      expect(ChatCompletionChunk.safeParse(JSON.parse(event.replace(/^data: /, ""))).success).toBe(true);
    }
  });
});

test("do not include a request that the published schema refuses", () => {
  const published = z.fromJSONSchema(document.components.schemas["ChatCompletionRequest"] ?? {});
  expect(published.safeParse({ model: "gpt-4", messages: [] }).success).toBe(false);
  expect(published.safeParse({ ...examples.chatRequests.automatic.value, max_tokens: -1 }).success).toBe(false);
});
