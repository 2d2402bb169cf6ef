import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { Policy } from "#config/policy.ts";
import { causes } from "#domain/routing.ts";
import { generatedFiles } from "../../scripts/generate-reference.ts";

const root = join(import.meta.dirname, "../..");

describe("files made from the schemas", () => {
  test.each([...generatedFiles()])("%s is what scripts/generate-reference.ts writes", (path, text) => {
    expect(readFileSync(join(root, path), "utf8")).toBe(text);
  });

  test("the shipped policy file has the defaults, key by key", () => {
    const loaded = loadPolicy(join(root, "defaults/policy.yaml"));
    expect(loaded.kind === "ok" && loaded.policy).toEqual(Policy.parse({}));
    const text = readFileSync(join(root, "defaults/policy.yaml"), "utf8");
    expect(text.split("\n")[0]).toBe("# yaml-language-server: $schema=./policy.schema.json");
    for (const path of leaves(jsonSchemaOf(Policy, ""))) expect(text).toContain(`${path.split(".").at(-1)}:`);
  });

  test("every key of the policy except the members of maps has a description", () => {
    const silent = leaves(jsonSchemaOf(Policy, ""), (node) => node.description === undefined);
    expect(silent.filter((path) => !/^routing\.(?:kind_bias|high_risk_words)\./.test(path))).toEqual([]);
  });
});

test("the page of causes has every cause", () => {
  const page = readFileSync(join(root, "docs/reference/causes.md"), "utf8");
  for (const cause of causes) expect(page).toContain(`\n## ${cause}\n`);
});

// Set by the launcher or the supervisor for their own processes, or known to every shell.
const notForOperators = new Set(["SMART_GATEWAY_COMMAND", "SMART_GATEWAY_WORKER", "SUDO_USER"]);

test("the page of settings has every variable that the gateway and its commands read", () => {
  const page = readFileSync(join(root, "docs/reference/settings.md"), "utf8");
  const files = [...new Bun.Glob("src/**/*.ts").scanSync(root)].filter((file) => !file.includes(".test."));
  const read = [...files, "scripts/toolchain.mjs"].flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/env(?:\.|\["|, ")([A-Z][A-Z_]+)/g)].map(
      ([, name = ""]) => name,
    ),
  );
  expect(read).toContain("NODE_EXTRA_CA_CERTS");
  const missing = read.filter(
    (name) => !name.startsWith("OTEL_") && !notForOperators.has(name) && !page.includes(name),
  );
  expect(missing).toEqual([]);
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
