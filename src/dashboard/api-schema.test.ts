import { expect, test } from "bun:test";
import { z } from "zod";
import { dashboardApi } from "./api-schema.ts";

test("every schema of the dashboard's API can be written as JSON Schema", () => {
  for (const [name, { about, ...schemas }] of Object.entries(dashboardApi)) {
    expect(about, name).toEndWith(".");
    for (const [part, schema] of Object.entries<z.ZodType>(schemas)) {
      const json = z.toJSONSchema(schema, { io: part === "query" || part === "body" ? "input" : "output" });
      expect(json.type ?? json.oneOf, `${name} ${part}`).toBeDefined();
    }
  }
});

test("reads are GET, writes are POST, and only writes have bodies", () => {
  for (const [name, schemas] of Object.entries(dashboardApi)) {
    expect(name).toMatch(/^(GET|POST) [a-z{}/]+$/);
    if (name.startsWith("GET")) expect(schemas, name).not.toHaveProperty("body");
  }
});
