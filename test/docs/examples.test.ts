import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** A replacement for `npx` in a clone; the real one could install packages. */
function npxIn(gateway: GatewayProcess): string {
  const folder = join(gateway.directory, ".bin");
  mkdirSync(folder);
  const npx = join(folder, "npx");
  writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(root, "src", "main.ts")}" "$@"\n`);
  chmodSync(npx, 0o755);
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
    let npx = "";
    beforeAll(async () => {
      gateway = await serve();
      npx = npxIn(gateway);
    });
    afterAll(() => gateway[Symbol.asyncDispose]());

    test.each(examples.map((example): [string, Example] => [example.script.trim().split("\n")[0] ?? "", example]))(
      "%s …",
      async (_, { script, outcome }) => {
        const { code, output } = await run(gateway, npx, script);
        expect({ code, missing: missingFrom(output, outcome), output }).toEqual({ code: 0, missing: [], output });
      },
    );
  });
});
