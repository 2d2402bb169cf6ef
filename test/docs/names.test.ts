import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { parse } from "yaml";
import { jsonSchemaOf, type SchemaNode } from "#config/json-schema.ts";
import { Policy } from "#config/policy.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { programWith } from "../../src/cli/program.ts";

const root = join(import.meta.dirname, "../..");
// The changelog is left out: it names what an earlier release had.
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("decisions/"))
    .map((name) => `docs/${name}`),
].map((page): [string, string] => [page, readFileSync(join(root, page), "utf8")]);

/** What is set as code within a line. */
const spansOf = (text: string) =>
  [...text.replace(/^```.*?^```$/gms, "").matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);

test.each(pages)("every policy key that %s names is in the policy", (_, text) => {
  const schema = jsonSchemaOf(Policy, "");
  const sections = Object.keys(schema.properties ?? {}).join("|");
  const named = spansOf(text).flatMap((span) => span.match(new RegExp(`^(?:${sections})\\.[a-z_]+[a-z_.]*`)) ?? []);
  expect(named.filter((path) => !isKey(schema, path.split(".")))).toEqual([]);
});

function isKey(node: SchemaNode, [key = "", ...rest]: readonly string[]): boolean {
  const child = node.properties?.[key];
  if (child === undefined) return false;
  // Below a map, such as `upstream.fields.<name>`, any name is one.
  return rest.length === 0 || child.properties === undefined || isKey(child, rest);
}

test.each(pages)("every example of a policy in %s is valid", (_, text) => {
  const examples = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = ""]) => parse(block));
  expect(examples.flatMap((example) => Policy.safeParse(example).error?.issues ?? [])).toEqual([]);
});

test.each(pages)("every metric that %s names is exposed", (_, text) => {
  const exposed = new Set(
    createMetrics()
      .catalog()
      .map(({ name }) => name),
  );
  const named = spansOf(text).flatMap((span) => span.match(/^smart_gateway_\w+(?![\w*])/) ?? []);
  expect(named.filter((name) => !exposed.has(name) && !name.endsWith("_"))).toEqual([]);
});

const program = await programWith(() => true);

test.each(pages)("every command that %s prints exists, with its options", (_, text) => {
  const printed = [
    ...spansOf(text).filter((span) => /^(?:npx )?smart-gateway /.test(span)),
    ...[...text.matchAll(/^```(?!yaml|json|python|toml|ts)[^\n]*\n(.*?)^```$/gms)].flatMap(([, block = ""]) =>
      block.split("\n").filter((line) => /^(?:\$ |npx |[A-Z_]+=\S+ )*smart-gateway /.test(line)),
    ),
  ];
  expect(printed.flatMap((line) => problemsOf(line.replace(/\s{2,}.*| #.*/, "")))).toEqual([]);
});

/** What the program would not understand. A word that stands for any command is in capitals: `smart-gateway COMMAND`. */
function problemsOf(line: string): string[] {
  const [, ...words] = line.slice(line.indexOf("smart-gateway")).split(/\s+/);
  let command: Command = program;
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    command = next;
  }
  if (command === program)
    return words[0] === "" || /^(?:-|[A-Z])/.test(words[0] ?? "-") ? [] : [`no command: ${line}`];
  const known = (command.commands.find((each) => each.name() === "show") ?? command).options.flatMap(
    ({ long, short }) => [long, short],
  );
  return words
    .filter((word) => /^--?[a-z]/.test(word))
    .map((word) => word.replace(/[=).,].*/, ""))
    .filter((option) => !known.includes(option))
    .map((option) => `no option ${option}: ${line}`);
}
