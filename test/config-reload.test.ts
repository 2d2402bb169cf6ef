import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LiveConfigOptions, liveConfig } from "#policy/live-config.ts";
import { formatProblems } from "#settings/problem.ts";
import type { Log, LogEvent } from "#telemetry/log.ts";

const open: { close(): void }[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const live of open.splice(0)) live.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-reload-"));
  folders.push(folder);
  return folder;
}

const cap = (usd: number | string) => `budget:\n  per_goal_hard_usd: ${usd}\n`;

/** A live configuration whose changes and log events can be awaited; nothing here waits for a fixed time. */
async function start(options: Omit<LiveConfigOptions, "log">) {
  const events: LogEvent[] = [];
  let awaited: { event: LogEvent; resolve: () => void } | undefined;
  const log: Log = (event) => {
    events.push(event);
    if (awaited?.event === event) awaited.resolve();
  };
  const live = await liveConfig({ quietMs: 5, pollMs: 600_000, ...options, log });
  if (live.kind === "invalid") throw new Error(formatProblems(live.problems));
  open.push(live);
  return {
    live,
    events,
    hard: () => live.current().policy.budget.per_goal_hard_usd,
    next: (event: LogEvent) => new Promise<void>((resolve) => (awaited = { event, resolve })),
  };
}

describe("reloading when asked", () => {
  test("takes the new file over, says what changed, and tells whoever listens", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const told: unknown[] = [];
    const { live, hard } = await start({
      policyPath: path,
      watchFiles: false,
      onChange: ({ caps }, changed) => told.push([caps.goalHard, changed]),
    });
    writeFileSync(path, cap(3));
    expect(await live.reload()).toEqual({ kind: "reloaded", changed: ["budget.per_goal_hard_usd"] });
    expect(hard()).toBe(3);
    expect(told).toEqual([[3_000_000_000, ["budget.per_goal_hard_usd"]]]);
    expect(await live.reload()).toEqual({ kind: "unchanged" });
  });

  test.each([
    ["a typo", "budget:\n  per_goal_hard: 9\n"],
    ["half a file", "budget:\n  per_goal_hard_usd: [9"],
    ["an unknown model in the chain", "budget:\n  per_goal_hard_usd: 9\nhealth:\n  senior_fallback_chain: [nobody]\n"],
    ["an emptied file, which is most likely one being written", ""],
  ])("refuses a bad file whole: %s", async (_, text) => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { live, hard, events } = await start({ policyPath: path, watchFiles: false });
    writeFileSync(path, text);
    expect((await live.reload()).kind).toBe("refused");
    expect(hard()).toBe(1);
    expect(events).toEqual(["config_refused"]);
    writeFileSync(path, cap(2));
    expect((await live.reload()).kind).toBe("reloaded");
    expect(hard()).toBe(2);
  });

  test("keeps the last good one when the file is gone", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { live, hard } = await start({ policyPath: path, watchFiles: false });
    unlinkSync(path);
    expect((await live.reload()).kind).toBe("refused");
    expect(hard()).toBe(1);
  });

  test("a file that was empty from the start means the defaults, and stays fine", async () => {
    const folder = newFolder();
    const [policyPath, registryPath] = [join(folder, "policy.yaml"), join(folder, "models.yaml")];
    writeFileSync(policyPath, "");
    writeFileSync(registryPath, "models:\n  vendor_v4_pro: { prices: { output: 1 } }\n");
    const { live } = await start({ policyPath, registryPath, watchFiles: false });
    writeFileSync(registryPath, "models:\n  vendor_v4_pro: { prices: { output: 2 } }\n");
    expect(await live.reload()).toEqual({ kind: "reloaded", changed: ["models.vendor_v4_pro.price.output"] });
  });

  test("refuses a change that cannot be put to use, and counts every re-reading", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const counted: string[] = [];
    const { live, hard } = await start({
      policyPath: path,
      watchFiles: false,
      onReload: (kind) => counted.push(kind),
      onChange: ({ policy }) => {
        if (policy.budget.per_goal_hard_usd === 2) throw new Error("no engine for it");
      },
    });
    writeFileSync(path, cap(2));
    const refused = await live.reload();
    expect(refused.kind === "refused" && formatProblems(refused.problems)).toContain("no engine for it");
    expect(hard()).toBe(1);
    writeFileSync(path, cap(3));
    await live.reload();
    await live.reload();
    expect([hard(), counted]).toEqual([3, ["refused", "reloaded", "unchanged"]]);
  });

  test("checks policy and registry together: a registry that drops a model of the chain is refused", async () => {
    const folder = newFolder();
    const [policyPath, registryPath] = [join(folder, "policy.yaml"), join(folder, "models.yaml")];
    const own = "models:\n  own: { role: worker, upstream_id: x, prices: { input: 1, output: 1 } }\n";
    writeFileSync(policyPath, "health:\n  senior_fallback_chain: [own, vendor_v4_pro]\n");
    writeFileSync(registryPath, own);
    const { live } = await start({ policyPath, registryPath, watchFiles: false });
    writeFileSync(registryPath, "models: {}\n");
    expect((await live.reload()).kind).toBe("refused");
    expect(live.current().registry.models.has("own")).toBe(true);
    writeFileSync(registryPath, own.replace("input: 1", "input: 2"));
    expect(await live.reload()).toEqual({
      kind: "reloaded",
      changed: ["models.own.price.input", "models.own.price.cachedInput"],
    });
  });

  test("asked twice at once reads one after the other, and the newest file wins", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { live, hard } = await start({ policyPath: path, watchFiles: false });
    writeFileSync(path, cap(2));
    const first = live.reload();
    writeFileSync(path, cap(3));
    await Promise.all([first, live.reload()]);
    expect(hard()).toBe(3);
  });
});

describe("noticing a change", () => {
  test("of a file written in place", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { hard, next } = await start({ policyPath: path });
    const reloaded = next("config_reloaded");
    writeFileSync(path, cap(2));
    await reloaded;
    expect(hard()).toBe(2);
  });

  test("of a file that an editor replaces by renaming, twice", async () => {
    const folder = newFolder();
    const path = join(folder, "policy.yaml");
    writeFileSync(path, cap(1));
    const { hard, next } = await start({ policyPath: path });
    for (const usd of [2, 3]) {
      const reloaded = next("config_reloaded");
      writeFileSync(join(folder, ".policy.yaml.swp"), cap(usd));
      renameSync(join(folder, ".policy.yaml.swp"), path);
      await reloaded;
      expect(hard()).toBe(usd);
    }
  });

  test("of a mounted Kubernetes volume, where a link to a directory is swapped", async () => {
    const folder = newFolder();
    const version = (name: string, usd: number) => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "policy.yaml"), cap(usd));
      symlinkSync(name, join(folder, "..data_tmp"));
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    };
    version("..v1", 1);
    symlinkSync(join("..data", "policy.yaml"), join(folder, "policy.yaml"));
    const { hard, next } = await start({ policyPath: join(folder, "policy.yaml") });
    for (const usd of [2, 3]) {
      const reloaded = next("config_reloaded");
      version(`..v${usd}`, usd);
      rmSync(join(folder, `..v${usd - 1}`), { recursive: true });
      await reloaded;
      expect(hard()).toBe(usd);
    }
  });

  test("of a file behind a link, written in place in its own directory", async () => {
    const [folder, elsewhere] = [newFolder(), newFolder()];
    writeFileSync(join(elsewhere, "real.yaml"), cap(1));
    symlinkSync(join(elsewhere, "real.yaml"), join(folder, "policy.yaml"));
    const { hard, next } = await start({ policyPath: join(folder, "policy.yaml") });
    const reloaded = next("config_reloaded");
    writeFileSync(join(elsewhere, "real.yaml"), cap(2));
    await reloaded;
    expect(hard()).toBe(2);
  });

  test("of a file that is gone for a moment: its absence is no error", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { hard, next, events } = await start({ policyPath: path });
    const reloaded = next("config_reloaded");
    unlinkSync(path);
    await Bun.sleep(0);
    writeFileSync(path, cap(2));
    await reloaded;
    expect(hard()).toBe(2);
    expect(events).toEqual(["config_reloaded"]);
  });

  test("by looking, where the file system tells nothing; a file that stays away is told once", async () => {
    const folder = newFolder();
    const path = join(folder, "policy.yaml");
    writeFileSync(path, cap(1));
    // Nothing is ever quiet for this long: only the poll can find the change.
    const { hard, next, events } = await start({ policyPath: path, quietMs: 600_000, pollMs: 5 });
    let event = next("config_refused");
    unlinkSync(path);
    await event;
    event = next("config_reloaded");
    writeFileSync(path, cap(2));
    await event;
    expect(hard()).toBe(2);
    expect(events).toEqual(["config_refused", "config_reloaded"]);
  });

  test("ends with close", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { live, hard } = await start({ policyPath: path });
    live.close();
    writeFileSync(path, cap(2));
    expect(await live.reload()).toEqual({ kind: "unchanged" });
    expect(hard()).toBe(1);
  });
});
