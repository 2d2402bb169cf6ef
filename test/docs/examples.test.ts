import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, root, serve } from "../harness/process.ts";

/** The blocks are a page's `sh runnable` fences, in order; each is followed by its outcome, a `text outcome` fence. */
const pages = ["README.md", "docs/guides/getting-started.md"];

interface Example {
  readonly script: string;
  readonly outcome: readonly string[];
}

function examplesOf(text: string): Example[] {
  return text
    .split(/^```sh runnable\n/m)
    .slice(1)
    .map((rest) => {
      const [, script = "", between = ""] = /^(.*?)^```\n(.*)$/ms.exec(rest) ?? [];
      const outcome = /^```text outcome\n(.*?)^```$/ms.exec(between)?.[1] ?? "";
      return { script, outcome: outcome.split("\n").filter((line) => line.trim() !== "") };
    });
}

/** Each line occurs in the output, after the previous line. `…` matches anything within a line. */
function missingFrom(output: string, outcome: readonly string[]): string[] {
  const lines = output.split(/\r?\n/);
  return outcome.filter((wanted) => {
    const pattern = new RegExp(wanted.trim().split("…").map(RegExp.escape).join(".*"));
    const at = lines.findIndex((line) => pattern.test(line));
    if (at < 0) return true;
    lines.splice(0, at);
    return false;
  });
}

const tools = ["sh", "curl"].every((tool) => Bun.which(tool) !== null);

/** The command as installed, and a replacement for `npx`, as the real one could install packages. */
function toolsIn(gateway: GatewayProcess): string {
  const folder = join(gateway.directory, ".bin");
  mkdirSync(folder);
  const command = `exec "${process.execPath}" "${join(root, "src", "main.ts")}" "$@"\n`;
  for (const [name, text] of [
    ["npx", `#!/bin/sh\nshift\n${command}`],
    ["smart-gateway", `#!/bin/sh\n${command}`],
  ] as const) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

async function run(gateway: GatewayProcess, tools: string, script: string): Promise<{ code: number; output: string }> {
  const { host, port } = new URL(gateway.url);
  const child = Bun.spawn(["sh", "-euc", script.replaceAll("127.0.0.1:8080", host)], {
    cwd: gateway.directory,
    env: { PATH: `${tools}:${process.env.PATH ?? ""}`, HOME: gateway.directory, PORT: port, NO_PROXY: "127.0.0.1" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: stdout + stderr };
}

describe.each(pages)("the examples in %s", (page) => {
  const examples = examplesOf(readFileSync(join(root, page), "utf8"));

  test("each state their outcome", () => {
    expect(examples.length).toBeGreaterThan(1);
    expect(examples.filter(({ outcome }) => outcome.length === 0)).toEqual([]);
  });

  describe.skipIf(!tools)("run against a gateway in demo mode (needs sh and curl)", () => {
    let gateway: GatewayProcess;
    let path = "";
    beforeAll(async () => {
      gateway = await serve();
      path = toolsIn(gateway);
    });
    afterAll(() => gateway[Symbol.asyncDispose]());

    test.each(examples.map((example): [string, Example] => [example.script.trim().split("\n")[0] ?? "", example]))(
      "%s …",
      async (_, { script, outcome }) => {
        const { code, output } = await run(gateway, path, script);
        expect({ code, missing: missingFrom(output, outcome), output }).toEqual({ code: 0, missing: [], output });
      },
    );
  });
});

/** Of the commands in blocks that are not run as examples: what cannot be run here, and where it is tested instead. */
const notRun: readonly (readonly [printed: RegExp, why: string])[] = [
  [/^(?:docker|kubectl|helm|npm run build)/, "npm run test:deploy, where the tools are installed"],
  [/smart-gateway serve|^npx smart-gateway$/, "the gateway that these commands ask"],
  [/budgets reconcile/, "needs an aggregator: test/prices"],
  [/budgets (?:settle|release) ID/, "needs a call of unknown outcome: test/ledger/budgets-cli.test.ts"],
  [/doctor --env-file/, "asks the aggregator, with the key that somebody puts into the file: test/config"],
];
/** What stands for something of the reader's own. */
const ofTheReader: readonly (readonly [RegExp, string])[] = [
  [/\bKEY\b/, "vendor_v4_pro"],
  [/ \/backups\//, " "],
  [/explain 0198\S+/, "explain first"],
];
/** They say in their exit code that there is nothing to say. */
const mayFindNothing = /policy learn/;

const printed = [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`),
]
  .filter((page) => page.endsWith(".md") && !page.startsWith("docs/reference/"))
  .flatMap((page) => [...readFileSync(join(root, page), "utf8").matchAll(/^```(?:sh)?\n(.*?)^```$/gms)])
  .flatMap(([, block = ""]) => block.split("\n"))
  .map((line) => line.replace(/^\$ /, "").replace(/ {2,}.*/, ""))
  .filter((line) => /^(?:[A-Z_]+=\S+ )?(?:npx )?(?:smart-gateway|docker|kubectl|helm|npm run build)\b/.test(line));
const commands = printed.filter((line) => !notRun.some(([pattern]) => pattern.test(line)));

describe.skipIf(!tools)("the commands that pages print (needs sh and curl)", () => {
  let gateway: GatewayProcess;
  let path = "";
  beforeAll(async () => {
    gateway = await serve();
    path = toolsIn(gateway);
    for (const file of ["new.yaml", "policy.yaml"]) writeFileSync(join(gateway.directory, file), "hard_rules: {}\n");
    const [first] = examplesOf(readFileSync(join(root, "README.md"), "utf8"));
    await run(gateway, path, (first?.script ?? "").replace("hello-1", "first"));
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  test.each([...new Set(commands)])("%s", async (line) => {
    const script = ofTheReader.reduce((text, [pattern, own]) => text.replace(pattern, own), line);
    const { code, output } = await run(gateway, path, script);
    expect({ output, worked: code === 0 || (code === 1 && mayFindNothing.test(line)) }).toEqual({
      output,
      worked: true,
    });
  });

  test("what is not run is still printed", () => {
    expect(notRun.filter(([pattern]) => !printed.some((line) => pattern.test(line)))).toEqual([]);
  });
});
