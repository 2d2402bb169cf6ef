import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commitIn } from "./build.ts";

test("a build is named by its own commit: a clone's, a package's, not that of the repository around it", () => {
  const clone = mkdtempSync(join(tmpdir(), "smart-gateway-build-"));
  const git = (...args: readonly string[]) => {
    const identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    const { exitCode, stdout } = Bun.spawnSync(["git", ...identity, ...args], { cwd: clone, stderr: "ignore" });
    expect(exitCode).toBe(0);
    return stdout.toString().trim();
  };
  const installed = join(clone, "node_modules", "smart-gateway");
  mkdirSync(installed, { recursive: true });
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "--message", "first");
  writeFileSync(join(clone, "build.json"), '{"commit":"of-an-earlier-package"}');
  expect(commitIn(clone)).toBe(git("rev-parse", "HEAD"));
  expect(commitIn(installed)).toBe("unknown");
  writeFileSync(join(installed, "build.json"), '{"commit":"of-the-package"}');
  expect(commitIn(installed)).toBe("of-the-package");
  rmSync(clone, { recursive: true });
});
