import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../harness/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "privacy-command-"));
afterAll(() => rmSync(folder, { recursive: true }));

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const run = (args: string[], stdin = "") => runCommand(["privacy", ...args], { stdin });

describe("privacy scan", () => {
  test("prints findings and the redacted text of a file", async () => {
    const file = join(folder, "a.txt");
    writeFileSync(file, `see ${token}\n`);
    const { out, code } = await run(["scan", file]);
    expect(out).toBe("RULE          COUNT\ngithub_token      1\n\nsee [REDACTED:github_token:1]\n");
    expect(code).toBe(0);
  });

  test("reads standard input, and prints JSON on request", async () => {
    const { out, code } = await run(["scan", "-", "--json"], `see ${token}`);
    expect(JSON.parse(out)).toEqual({
      text: "see [REDACTED:github_token:1]",
      findings: [{ rule: "github_token", count: 1 }],
      total: 1,
    });
    expect(code).toBe(0);
  });

  test("fails with 1 for a file that cannot be read", async () => {
    const { err, code } = await run(["scan", join(folder, "absent")]);
    expect(err).toContain("cannot read");
    expect(code).toBe(1);
  });
});
