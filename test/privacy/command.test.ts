import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "privacy-command-"));
afterAll(() => rmSync(folder, { recursive: true }));

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const source =
  'const { privacyCommand } = await import("#cli/commands/privacy.ts"); await privacyCommand().exitOverride().parseAsync(process.argv.slice(1), { from: "user" });';

function run(args: string[], stdin = "") {
  const child = Bun.spawnSync([process.execPath, "-e", source, ...args], {
    cwd: join(import.meta.dir, "../.."),
    stdin: Buffer.from(stdin),
  });
  return { out: child.stdout.toString(), err: child.stderr.toString(), code: child.exitCode };
}

describe("privacy scan", () => {
  test("prints findings and the redacted text of a file", () => {
    const file = join(folder, "a.txt");
    writeFileSync(file, `see ${token}\n`);
    const { out, code } = run(["scan", file]);
    expect(out).toBe("1 × github_token\n1 replaced\n\nsee [REDACTED:github_token:1]\n");
    expect(code).toBe(0);
  });

  test("reads standard input, and prints JSON on request", () => {
    const { out, code } = run(["scan", "-", "--json"], `see ${token}`);
    expect(JSON.parse(out)).toEqual({
      text: "see [REDACTED:github_token:1]",
      findings: [{ rule: "github_token", count: 1 }],
      total: 1,
    });
    expect(code).toBe(0);
  });

  test("fails with 1 for a file that cannot be read", () => {
    const { err, code } = run(["scan", join(folder, "absent")]);
    expect(err).toContain("cannot read");
    expect(code).toBe(1);
  });
});
