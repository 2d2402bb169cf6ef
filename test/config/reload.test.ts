import { afterEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LiveConfigOptions, liveConfig } from "#config/live-config.ts";
import { formatProblems } from "#config/problem.ts";
import type { Log, LogEvent } from "#telemetry/log/log.ts";

const open: { close(): void }[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const live of open.splice(0)) live.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, "smart-gateway-reload-"));
  folders.push(folder);
  return folder;
}

const cap = (usd: number | string) => `budget:\n  per_goal_hard_usd: ${usd}\n`;

/** A live configuration whose changes and log events can be awaited; no test here waits for a fixed time. */
async function start(options: Omit<LiveConfigOptions, "log">) {
  const events: LogEvent[] = [];
  let awaited: { event: LogEvent; resolve: () => void } | undefined;
  const log: Log = (event) => {
    events.push(event);
    if (awaited?.event === event) awaited.resolve();
  };
  const live = liveConfig({ pollMs: 5, ...options, log });
  if (live.kind === "invalid") throw new Error(formatProblems(live.problems));
  open.push(live);
  return {
    live,
    events,
    hard: () => live.current().policy.budget.per_goal_hard_usd,
    next: (event: LogEvent) => new Promise<void>((resolve) => (awaited = { event, resolve })),
  };
}

test.skipIf(process.platform === "win32")(
  "a pipe is no configuration: at the start it is refused, later the last good one stays",
  async () => {
    const folder = newFolder();
    const policyPath = join(folder, "policy.yaml");
    writeFileSync(policyPath, cap(3));
    const { live, hard, next } = await start({ policyPath });
    const refused = next("config_refused");
    unlinkSync(policyPath);
    // Reading it would wait for a writer, and block the whole process.
    expect(Bun.spawnSync(["mkfifo", policyPath]).exitCode).toBe(0);
    expect(live.reload()).toMatchObject({ kind: "refused" });
    await refused;
    expect(hard()).toBe(3);
    const log: Log = () => undefined;
    expect(liveConfig({ policyPath, log })).toMatchObject({ kind: "invalid" });
    const inMemory = "/dev/shm"; // usual files, unlike the rest of /dev
    if (existsSync(inMemory)) {
      const pipe = join(newFolder(inMemory), "policy.yaml");
      expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
      expect(liveConfig({ policyPath: pipe, log })).toMatchObject({ kind: "invalid" });
    }
    // The result of a shell's `<(…)` can be read only once.
    const once = liveConfig({ policyPath: "/dev/null", log });
    expect(once.kind === "invalid" && formatProblems(once.problems)).toContain("is not a regular file");
  },
);

describe("reloading when asked", () => {
  test("applies the new file, logs the changes, and notifies listeners", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const applied: unknown[] = [];
    const { live, hard } = await start({
      policyPath: path,
      pollMs: 600_000,
      onChange: ({ caps }) => applied.push(caps.goalHard),
    });
    writeFileSync(path, cap(3));
    expect(live.reload()).toEqual({ kind: "reloaded", changed: ["budget.per_goal_hard_usd"] });
    expect(hard()).toBe(3);
    expect(applied).toEqual([3_000_000_000]);
    expect(live.reload()).toEqual({ kind: "unchanged" });
  });

  test.each([
    ["a typo", "budget:\n  per_goal_hard: 9\n"],
    ["half a file", "budget:\n  per_goal_hard_usd: [9"],
    ["an unknown model in the chain", "budget:\n  per_goal_hard_usd: 9\nhealth:\n  senior_fallback_chain: [nobody]\n"],
    ["an emptied file, which is most likely one being written", ""],
  ])("refuses an invalid file completely: %s", async (_, text) => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { live, hard, events } = await start({ policyPath: path, pollMs: 600_000 });
    writeFileSync(path, text);
    expect(live.reload().kind).toBe("refused");
    expect(hard()).toBe(1);
    expect(events).toEqual(["config_refused"]);
    writeFileSync(path, cap(2));
    expect(live.reload().kind).toBe("reloaded");
    expect(hard()).toBe(2);
  });

  test("refuses a change that cannot be applied, and counts every reload", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const counted: string[] = [];
    const { live, hard } = await start({
      policyPath: path,
      pollMs: 600_000,
      onReload: (kind) => counted.push(kind),
      onChange: ({ policy }) => {
        if (policy.budget.per_goal_hard_usd === 2) throw new Error("no engine for it");
      },
    });
    writeFileSync(path, cap(2));
    const refused = live.reload();
    expect(refused.kind === "refused" && formatProblems(refused.problems)).toContain("no engine for it");
    expect(hard()).toBe(1);
    writeFileSync(path, cap(3));
    live.reload();
    live.reload();
    expect([hard(), counted]).toEqual([3, ["refused", "reloaded", "unchanged"]]);
  });
});

describe("noticing a change", () => {
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

  test("of a mounted Kubernetes volume, whose link to a directory is swapped", async () => {
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

  test("of a file that stays away: that is reported once", async () => {
    const path = join(newFolder(), "policy.yaml");
    writeFileSync(path, cap(1));
    const { hard, next, events } = await start({ policyPath: path });
    let event = next("config_refused");
    unlinkSync(path);
    await event;
    event = next("config_reloaded");
    writeFileSync(path, cap(2));
    await event;
    expect(hard()).toBe(2);
    expect(events).toEqual(["config_refused", "config_reloaded"]);
  });
});

describe("files beside the configuration", () => {
  test("the keys and the upstream's key come into force whatever becomes of the policy", async () => {
    const folder = newFolder();
    const [policyPath, authKeysFile, keyPath] = ["policy.yaml", "keys", "upstream"].map((name) => join(folder, name));
    const digests = ["a", "b"].map((token) => new Bun.CryptoHasher("sha256").update(token).digest("hex"));
    writeFileSync(policyPath ?? "", cap(1));
    writeFileSync(authKeysFile ?? "", digests.join("\n"));
    writeFileSync(keyPath ?? "", "first\n");
    const received: string[] = [];
    const { live, events } = await start({
      ...{ policyPath, authKeysFile, pollMs: 600_000 },
      upstreamKey: { path: keyPath ?? "", value: "first" },
      onUpstreamKey: (key) => received.push(key),
    });
    writeFileSync(policyPath ?? "", cap("lots"));
    writeFileSync(authKeysFile ?? "", digests[1] ?? "");
    writeFileSync(keyPath ?? "", "second\n");
    expect(live.reload()).toMatchObject({ kind: "refused", problems: [{ path: "budget.per_goal_hard_usd" }] });
    expect([[...(live.keys()?.keys() ?? [])], received]).toEqual([[digests[1] ?? ""], ["second"]]);
    expect(events).toEqual(["config_refused", "config_reloaded", "config_reloaded"]);
    writeFileSync(policyPath ?? "", cap(1));
    writeFileSync(authKeysFile ?? "", "no digest");
    writeFileSync(keyPath ?? "", "\n");
    expect(live.reload().kind).toBe("refused");
    expect([live.keys()?.size, received.length, live.status().reason]).toEqual([1, 1, "keys:1 is refused"]);
  });
});
