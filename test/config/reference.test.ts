import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadPolicy } from "#policy/load-policy.ts";
import { Policy } from "#policy/schema.ts";
import { jsonSchemaOf, type SchemaNode } from "#settings/json-schema.ts";
import { generatedFiles } from "../../scripts/generate-reference.ts";

const root = join(import.meta.dirname, "../..");

describe("files made from the schemas", () => {
  test.each([...generatedFiles()])("%s is what scripts/generate-reference.ts writes", (path, text) => {
    expect(readFileSync(join(root, path), "utf8")).toBe(text);
  });

  test("the shipped policy file has the defaults, key by key", () => {
    const loaded = loadPolicy(join(root, "config/policy.yaml"));
    expect(loaded.kind === "ok" && loaded.policy).toEqual(Policy.parse({}));
    const text = readFileSync(join(root, "config/policy.yaml"), "utf8");
    expect(text.split("\n")[0]).toBe("# yaml-language-server: $schema=./policy.schema.json");
    for (const path of leaves(jsonSchemaOf(Policy, ""))) expect(text).toContain(`${path.split(".").at(-1)}:`);
  });

  test("every key of the policy except the biases has a description", () => {
    const silent = leaves(jsonSchemaOf(Policy, ""), (node) => node.description === undefined);
    expect(silent.filter((path) => !path.startsWith("routing.kind_bias."))).toEqual([]);
  });
});

function leaves(node: SchemaNode, chosen: (node: SchemaNode) => boolean = () => true, path = ""): string[] {
  return Object.entries(node.properties ?? {})
    .filter(([key]) => key !== "$schema")
    .flatMap(([key, child]) => {
      const at = path === "" ? key : `${path}.${key}`;
      if (child.properties !== undefined) return leaves(child, chosen, at);
      return chosen(child) ? [at] : [];
    });
}
