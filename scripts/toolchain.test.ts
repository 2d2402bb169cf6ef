import { describe, expect, test } from "bun:test";

const toolchain = new URL("./toolchain.mjs", import.meta.url).href;

function settingsWith(env: Record<string, string>): unknown {
  const { MIMALLOC_PURGE_DELAY: _, ...rest } = process.env;
  const program = `const { allocatorSettings } = await import(${JSON.stringify(toolchain)}); console.log(JSON.stringify(allocatorSettings()));`;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", program], { env: { ...rest, ...env } });
  return JSON.parse(stdout.toString());
}

describe("the launcher", () => {
  test("has the allocator keep freed memory for two seconds", () => {
    expect(settingsWith({})).toEqual({ MIMALLOC_PURGE_DELAY: "2000" });
  });

  test("keeps the operator's own setting of the allocator", () => {
    expect(settingsWith({ MIMALLOC_PURGE_DELAY: "10" })).toEqual({ MIMALLOC_PURGE_DELAY: "10" });
  });
});
