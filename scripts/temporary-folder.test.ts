import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const module = new URL("./temporary-folder.mjs", import.meta.url).href;
const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "in-memory-"));
  roots.push(root);
  return root;
}

/** What a process gets that asks for a folder below `root`, and its number. */
function askedBelow(root: string, env: Record<string, string> = {}, then = "") {
  const program = `const folder = (await import(${JSON.stringify(module)})).temporaryFolderInMemory(${JSON.stringify(root)}); console.log(folder); ${then}`;
  const { TMPDIR: _, ...rest } = process.env;
  const { stdout, pid } = Bun.spawnSync([process.execPath, "-e", program], { env: { ...rest, ...env } });
  return { folder: stdout.toString().trim(), pid };
}

describe.skipIf(process.platform === "win32")("the folder in memory for temporary files of tests", () => {
  test("is new, may be entered by every user, and is removed when its process ends", () => {
    const root = newRoot();
    const mode = `console.log((await import("node:fs")).statSync(folder).mode.toString(8))`;
    const { folder, pid } = askedBelow(root, {}, mode);
    expect(folder).toBe(`${join(root, `smart-gateway-tests-${pid}`)}\n41777`);
    expect(readdirSync(root)).toEqual([]);
  });

  test("of a run that was killed is removed by the next run, those of running processes stay", () => {
    const root = newRoot();
    const ended = Bun.spawnSync(["true"]).pid;
    for (const pid of [ended, process.pid]) mkdirSync(join(root, `smart-gateway-tests-${pid}`));
    askedBelow(root);
    expect(readdirSync(root)).toEqual([`smart-gateway-tests-${process.pid}`]);
  });

  test("is not used where the user names a folder, or the system has none", () => {
    expect(askedBelow(newRoot(), { TMPDIR: tmpdir() }).folder).toBe("undefined");
    const missing = join(newRoot(), "missing");
    expect(askedBelow(missing).folder).toBe("undefined");
    expect(existsSync(missing)).toBe(false);
  });
});
