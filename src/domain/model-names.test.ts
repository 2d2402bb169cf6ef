import { describe, expect, test } from "bun:test";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { otherModel } from "./model-names.ts";

describe("the model that an upstream names", () => {
  test.each([
    ["vendor/model", "vendor/model"],
    ["vendor/model", "Vendor/Model"],
    ["vendor/model", "vendor/model-20260115"],
    ["vendor/model", "vendor/model-2026-01-15"],
    ["vendor/model", "vendor/model@20260115"],
    ["vendor/model-20260115", "vendor/model"],
    ["vendor/model-latest", "vendor/model-20260115"],
    ["vendor/model", "vendor/model:nitro"],
    ["vendor/model:floor", "vendor/model"],
    ["vendor/model:free", "vendor/model-20260115:free"],
    ["vendor/model", "model"],
    ["model", "vendor/model-20260115"],
  ])("requested %s, named %s: the same model", (asked, said) => {
    expect(otherModel(asked, said)).toBeUndefined();
  });

  test.each(jsonLines<[string, string]>(import.meta.dir, "fixtures/other-models.jsonl"))(
    "requested %s, named %s: another model",
    (asked, said) => {
      expect(otherModel(asked, said)).toBe(said);
    },
  );

  test.each([undefined, null, 7, "", {}, "x\u0000y", "x".repeat(257)])("%p is no name", (said) => {
    expect(otherModel("vendor/model", said)).toBeUndefined();
  });
});
