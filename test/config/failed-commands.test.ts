import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../harness/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-failed-commands-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Run where no gateway has ever been. */
describe("a command that fails", () => {
  const rows: readonly (readonly string[])[] = [
    ["budgets", "show"],
    ["budgets", "audit"],
    ["budgets", "holds"],
    ["budgets", "settle", "x", "--usd", "1"],
    ["budgets", "release", "x"],
    ["budgets", "set", "--goal", "a", "--hard-usd", "1"],
    ["decisions", "tail", "--no-follow"],
    ["decisions", "show", "x"],
    ["decisions", "export"],
    ["explain", "x"],
    ["backup", join(folder, "copy.db")],
    ["privacy", "scan", join(folder, "nothing.txt")],
  ];
  test.each(rows.map((args) => [args.slice(0, 2).join(" "), args] as const))(
    "says so in JSON where that was asked for, on standard output: %s",
    async (_, args) => {
      const { code, err, json } = await runCommand([...args, "--json"], { cwd: folder });
      expect([code === 1 || code === 2, err]).toEqual([true, ""]);
      expect(json()).toEqual({ ok: false, problem: expect.any(String) });
    },
  );

  test("for the way in which it was called ends with 2, whatever the store says", async () => {
    expect((await runCommand(["budgets", "set"], { cwd: folder })).code).toBe(2);
    expect((await runCommand(["budgets", "release"], { cwd: folder })).code).toBe(2);
  });
});
