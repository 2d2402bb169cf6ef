import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { openApiDocument } from "./document.ts";

interface Body {
  readonly content: {
    readonly [type: string]: { readonly schema: { readonly $ref?: string }; readonly example?: object };
  };
}
interface Operation {
  readonly operationId: string;
  readonly security?: unknown;
  readonly requestBody?: Body;
  readonly responses: { readonly [status: string]: Body };
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
const published = (name: string) => z.fromJSONSchema(document.components.schemas[name] ?? {});

describe("the document", () => {
  test("is OpenAPI 3.1, names every endpoint, and requires a token exactly where the gateway does", () => {
    expect(document.openapi).toStartWith("3.1.");
    const named = operations.map(({ name, operation }) => [name, operation.security !== undefined]);
    expect(named).toEqual([
      ["POST /v1/chat/completions", true],
      ["POST /v1/route/decision", true],
      ["POST /v1/route/outcome", true],
      ["GET /v1/route/status", true],
      ["GET /v1/route/decisions/{id}", true],
      ["GET /v1/models", true],
      ["GET /v1/models/{id}", true],
      ["GET /healthz", false],
      ["GET /livez", false],
      ["GET /readyz", false],
      ["GET /metrics", false],
      ["GET /openapi.json", false],
    ]);
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  });

  test("says that null counts as absent in a dry run, but for what is required", () => {
    const success = (body: object) => published("DecisionRequest").safeParse(body).success;
    const task = { task_id: "t", instruction: "x" };
    expect([
      success({ task, runtime: null }),
      success({ task: { ...task, kind: null }, runtime: { failure_class: null, attempts: null } }),
      success({ task: { ...task, instruction: null } }),
      success({ task, runtime: { failure_class: "none" } }),
    ]).toEqual([true, true, false, false]);
  });

  test("refers only to schemas that it has, and has none that nothing refers to", () => {
    const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? ""));
    expect([...referred].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  test("names each status of the specification, and gives every error the same shape", () => {
    const statuses = (path: string) => Object.keys(document.paths[path]?.["post"]?.responses ?? {}).map(Number);
    expect(statuses("/v1/chat/completions")).toEqual([200, 400, 401, 403, 413, 422, 429, 500, 502, 503, 504]);
    // 403, 429 and 503 come before the dry run: access, the key's rate, and whether there is room.
    expect(statuses("/v1/route/decision")).toEqual([200, 401, 403, 413, 422, 429, 503]);
    for (const { operation } of operations.filter(({ operation }) => operation.security !== undefined)) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue;
        expect(content["application/json"]?.schema).toEqual({ $ref: "#/components/schemas/Error" });
      }
    }
  });

  test("publishes the decision with exactly its eleven fields, all required", () => {
    const { required, properties, additionalProperties } = document.components.schemas["RoutingDecision"] ?? {};
    expect(required).toHaveLength(11);
    expect(Object.keys(properties ?? {}).sort()).toEqual([...(required ?? [])].sort());
    expect(additionalProperties).toBe(false);
  });

  test("has examples that its schemas accept, and refuses what the gateway refuses", () => {
    for (const { operation } of operations) {
      const { schema, example } = operation.requestBody?.content["application/json"] ?? {};
      if (schema === undefined) continue;
      expect(published(schema.$ref?.split("/").at(-1) ?? "").safeParse(example).error).toBeUndefined();
    }
    const chat = { model: "smart-router", messages: [{ role: "user", content: "hello" }] };
    const refused = [
      { model: "gpt-4", messages: [] },
      { ...chat, max_tokens: -1 },
      { ...chat, tools: [{ type: "web_search" }] },
    ];
    for (const body of refused) expect(published("ChatCompletionRequest").safeParse(body).success).toBe(false);
    expect(
      published("ChatCompletionRequest").safeParse({ ...chat, tools: [{ type: "function", function: {} }] }).success,
    ).toBe(true);
  });
});
