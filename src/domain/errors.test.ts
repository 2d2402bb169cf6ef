import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorOf, errorRows, errorType } from "./errors.ts";

const rows = [...errorRows.ofRequests, ...errorRows.ofDashboard];

test("every error of the table is used, and each name stands once", () => {
  const root = join(import.meta.dirname, "..");
  const files = [...new Bun.Glob("**/*.ts").scanSync(root)].filter(
    (file) => !/\.test\.ts$|domain\/errors\.ts$/.test(file),
  );
  const source = files.map((file) => readFileSync(join(root, file), "utf8")).join("\n");
  // Those of one code that the value of a field chooses among.
  const chosen = (name: string) => source.includes(`\`${name.replace(/\..*/, "")}.$\{`);
  expect(rows.filter(({ name }) => !source.includes(`"${name}"`) && !chosen(name)).map(({ name }) => name)).toEqual([]);
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
});

test("an error has its code, its status, its sentence with the values, and OpenAI's type", () => {
  expect(errorOf("unauthorized.too_short", { characters: 8 })).toEqual({
    status: 401,
    code: "unauthorized",
    detail: "The bearer token is too short: at least 8 characters (AUTH_MIN_TOKEN_LENGTH).",
  });
  expect([400, 401, 403, 404, 422, 429, 500, 503].map(errorType)).toEqual([
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "invalid_request_error",
    "rate_limit_error",
    "api_error",
    "api_error",
  ]);
  // @ts-expect-error: the sentence needs a value
  expect(errorOf("not_found.segments").detail).toContain("undefined");
});

test("what is unavailable can be asked for again after a second", () => {
  expect(errorOf("overloaded.bodies").retryAfterS).toBe(1);
  expect(errorOf("internal_error").retryAfterS).toBeUndefined();
});
