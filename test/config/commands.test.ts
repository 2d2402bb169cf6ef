import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { completionsOf } from "#cli/completion/completions.ts";
import { examples } from "#cli/examples.ts";
import { programWith } from "#cli/program.ts";
import { type CommandOptions, main, runCommand } from "../harness/command-line.ts";
import { type Answer, start, type TestGateway, token } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], options: Omit<CommandOptions, "cwd"> = {}) =>
  runCommand(args, { cwd: folder, ...options });
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const program = await programWith(() => true);
/** Every command that does something, by what is typed. */
const leaves = [...leavesOf(program, "")];

function* leavesOf(command: Command, path: string): Generator<readonly [string, Command]> {
  for (const child of command.commands) {
    const name = `${path} ${child.name()}`.trim();
    if (child.commands.length === 0) yield [name, child];
    else yield* leavesOf(child, name);
  }
}

function helpOf(command: Command): string {
  let text = "";
  const writeOut = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut }).outputHelp();
  return text;
}

describe("every command", () => {
  test("is covered by these tests", () => {
    expect(leaves.length).toBeGreaterThan(20);
  });

  test.each(leaves)("%s takes --json, says what it does, and has an example in its help", (_, command) => {
    expect(command.options.map(({ long }) => long)).toContain("--json");
    expect(command.description()).toMatch(/^\S.{10,}/);
    expect(helpOf(command)).toMatch(/\nExamples:\n {2}\$ .*smart-gateway/);
  });

  test.each(leaves)("%s shows its defaults as they are typed, and the same each time", (_, command) => {
    expect(helpOf(command)).not.toMatch(/default: "?\d{10,}/);
  });

  test.each([
    ["models", "list"],
    ["budgets", "show"],
  ])("the help of %s has the options of %s, which runs without a command", (name, defaultName) => {
    const group = program.commands.find((command) => command.name() === name);
    const options = group?.commands.find((command) => command.name() === defaultName)?.options ?? [];
    expect(options.length).toBeGreaterThan(0);
    for (const { flags } of options) expect(group && helpOf(group)).toContain(`\n  ${flags}`);
  });

  test("every example names an existing command, and parses", () => {
    const names = new Set(leaves.map(([name]) => name));
    expect(Object.keys(examples).filter((name) => !names.has(name))).toEqual([]);
  });

  test("options and arguments have a description", () => {
    const silent = leaves.flatMap(([name, command]) =>
      [...command.options, ...command.registeredArguments]
        .filter(({ description }) => description === "")
        .map((each) => `${name} ${"long" in each ? each.long : each.name()}`),
    );
    expect(silent).toEqual([]);
  });
});

describe("shell completion", () => {
  const keys = () => ["vendor_v4_flash", "vendor_v4_pro"];
  const of = (...words: string[]) => {
    const found = completionsOf(program, words, keys);
    return found === "files" ? found : found.map(({ value }) => value);
  };

  test("completes commands and subcommands", () => {
    expect(of("mo")).toEqual(["models"]);
    expect(of("")).toContain("doctor");
    expect(of("models", "")).toEqual(["list", "sync", "disable", "enable", "reset"]);
    expect(of("budgets", "re")).toEqual(["release", "reconcile"]);
    expect(of("nonsense", "")).toEqual([]);
    expect(of("help", "mo")).toEqual(["models"]);
  });

  test("completes options, and the values they take", () => {
    expect(of("models", "sync", "--w")).toEqual(["--write"]);
    expect(of("doctor", "--")).toEqual(["--offline", "--json", "--help"]);
    expect(of("route", "--file", "")).toBe("files");
    expect(of("budgets", "set", "--hard-usd", "")).toEqual([]);
    expect(of("budgets", "set", "--hard-usd", "5", "--cl")).toEqual(["--clear"]);
    expect(of("decisions", "export", "--format=c")).toEqual(["--format=csv"]);
    expect(of("decisions", "export", "--json=c")).toEqual([]);
    expect(of("decisions", "export", "--format=csv", "--js")).toEqual(["--json"]);
  });

  test("completes arguments: choices, model keys, paths", () => {
    expect(of("completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(of("models", "disable", "vendor_v4_f")).toEqual(["vendor_v4_flash"]);
    expect(of("policy", "check", "")).toBe("files");
    expect(of("policy", "diff", "a.yaml", "")).toBe("files");
  });

  test("works in a real bash", async () => {
    const bin = join(folder, "smart-gateway");
    writeFileSync(bin, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    chmodSync(bin, 0o755);
    const script = `
      eval "$(smart-gateway completion bash)"
      for words in "mod" "models dis" "models disable vendor_e" "doctor --of" "decisions export --format = c" "decisions export --format ="; do
        COMP_WORDS=(smart-gateway $words); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        _smart_gateway
        echo "\${COMPREPLY[@]}"
      done`;
    const child = Bun.spawn(["bash", "-c", script], {
      env: { PATH: `${folder}:${process.env["PATH"] ?? ""}` },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([out, err]).toEqual(["models\ndisable\nvendor_emergency\n--offline\ncsv\njsonl csv\n", ""]);
  });

  test("offers the words of a filter, although it takes several of them", async () => {
    const { out } = await run(["__complete", "bash", "decisions", "tail", "--outcome", "re"]);
    expect(out).toBe("refused\n");
  });

  test.each(["zsh", "fish"])("describes what it offers %s", async (shell) => {
    const { out } = await run(["__complete", shell, "models", "dis"]);
    expect(out).toBe(
      `disable${shell === "zsh" ? ":" : "\t"}stop sending traffic to a model until it is enabled again\n`,
    );
    expect((await run(["completion", shell])).out).toContain(`smart-gateway __complete ${shell} `);
  });

  test("refuses a shell that it does not know, with exit code 2", async () => {
    const { code, err } = await run(["completion", "tcsh"]);
    expect([code, err]).toEqual([2, expect.stringContaining("bash, zsh, fish")]);
  });
});

describe("smart-gateway policy diff", () => {
  const old = file("old.yaml", "limits:\n  max_attempts: 3\n");
  const fresh = file("new.yaml", "limits:\n  max_attempts: 4\nbudget:\n  per_day_hard_usd: 80\n");

  test("shows every key that differs from the active policy or from another file", async () => {
    const [two, one] = await Promise.all([
      run(["policy", "diff", old, fresh, "--json"]),
      run(["policy", "diff", fresh, "--json"]),
    ]);
    expect(two.json()).toEqual({
      from: old,
      to: fresh,
      changes: [
        { key: "budget.per_day_hard_usd", from: 50, to: 80 },
        { key: "limits.max_attempts", from: 3, to: 4 },
      ],
    });
    expect(one.json().changes.map(({ key, from }: Answer) => [key, from])).toEqual([
      ["budget.per_day_hard_usd", 50],
      ["limits.max_attempts", 8],
    ]);
    const text = await run(["policy", "diff", old], { env: { ROUTING_POLICY_PATH: fresh } });
    expect(text.out).toMatch(/limits\.max_attempts +4 +3/);
    expect((await run(["policy", "diff", old, old])).out).toContain("changes nothing");
  });

  test("says what is wrong with either file, with exit code 2", async () => {
    const bad = file("bad.yaml", "limits:\n  max_attemps: 3\n");
    const { code, err } = await run(["policy", "diff", bad, "nowhere.yaml"]);
    expect(code).toBe(2);
    for (const part of ["max_attemps", "did you mean max_attempts?", "nowhere.yaml"]) expect(err).toContain(part);
  });
});

describe("smart-gateway init", () => {
  const env = (name: string) => readFileSync(join(folder, name, ".env"), "utf8");

  test("asks, writes the answers into the files, and asks again after an invalid answer", async () => {
    const key = ["sk", "or", "typed-key"].join("-");
    const answers = [key, "", "eighty", "9100", "12.50", "lots", "1"];
    const { code, err } = await run(["init", "asked", "--ask"], { stdin: `${answers.join("\n")}\n` });
    expect([code, err.includes("must be a whole number")]).toEqual([0, true]);
    expect(err).not.toContain(key);
    expect(env("asked")).toMatch(new RegExp(`^UPSTREAM_API_KEY=${key}$`, "m"));
    expect(env("asked")).toMatch(/^PORT=9100$/m);
    expect(env("asked")).toMatch(/^#UPSTREAM_BASE_URL=/m);
    const shown = await run(["policy", "show", "asked/policy.yaml", "--changed", "--json"]);
    expect(shown.json()).toEqual({
      budget: { per_goal_soft_usd: 0.4, per_goal_hard_usd: 1, per_day_soft_usd: 5, per_day_hard_usd: 12.5 },
    });
    const { code: usable } = await run(["doctor", "--offline"], {
      env: { PORT: "0", ROUTING_POLICY_PATH: "asked/policy.yaml", MODEL_REGISTRY_PATH: "asked/models.yaml" },
    });
    expect(usable).toBe(0);
  });

  test("writes nothing if the answers end, or are invalid three times", async () => {
    const [ended, wrong] = await Promise.all([
      run(["init", "ended", "--ask"], { stdin: "key-key-key\n" }),
      run(["init", "wrong", "--ask"], { stdin: "key-key-key\n\na\nb\nc\n" }),
    ]);
    expect([ended.code, wrong.code]).toEqual([2, 2]);
    expect(() => env("ended")).toThrow();
    expect(() => env("wrong")).toThrow();
  });

  test("asks nothing with flags, and takes the key from the environment", async () => {
    const flags = [
      "--yes",
      "--port",
      "9200",
      "--per-day-usd",
      "8",
      "--per-goal-usd",
      "2",
      "--upstream-url",
      "http://127.0.0.1:1/v1",
    ];
    const { code } = await run(["init", "flags", ...flags], { env: { UPSTREAM_API_KEY: "from-the-environment" } });
    expect(code).toBe(0);
    for (const line of [
      "UPSTREAM_API_KEY=from-the-environment",
      "PORT=9200",
      "UPSTREAM_BASE_URL=http://127.0.0.1:1/v1",
    ])
      expect(env("flags").split("\n")).toContain(line);
    const wrong = await run(["init", "never", "--yes", "--port", "eighty"]);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("--port must be a whole number")]);
  });
});

describe("smart-gateway statusline", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.stop());
  const line = (args: string[], more: { env?: Record<string, string>; stdin?: string } = {}) =>
    run(["statusline", "--url", gateway.url, ...args], more);

  test("shows the model, the goal's spend and the rest, by flags or by what an agent writes on standard input", async () => {
    const headers = { "x-session-id": "s-1", "x-goal-id": "release" };
    expect((await gateway.chat({}, headers)).status).toBe(200);
    await gateway.ledger();
    const [flags, agent, none] = await Promise.all([
      line(["--session", "s-1", "--goal", "release"]),
      line([], {
        env: { SMART_GATEWAY_GOAL: "release" },
        stdin: JSON.stringify({ session_id: "s-1", model: { id: "x", display_name: "X" }, workspace: {} }),
      }),
      line([], { stdin: JSON.stringify({ session_id: "s-2", model: { display_name: "Agent's own" } }) }),
    ]);
    expect(flags.out).toBe("deepseek-v4-flash · goal <$0.01 of $5 · today <$0.01 of $50 · $5 left\n");
    expect([agent.out, agent.code]).toEqual([flags.out, 0]);
    // Requests without a goal: this process has sent none.
    expect(none.out).toBe("Agent's own · today <$0.01 of $50 · $50 left\n");
  });

  test("prints the gateway's answer with --json", async () => {
    const { json } = await line(["--goal", "other", "--json"]);
    expect(json()).toMatchObject({ goal: { id: "other", spent_usd: "0", hard_cap_usd: "5" }, model: null });
  });

  test("says in one line that there is no gateway, with exit code 1", async () => {
    const { out, code } = await run(["statusline", "--url", "http://127.0.0.1:9"]);
    expect([out, code]).toEqual(["smart-gateway: not reachable\n", 1]);
    expect((await run(["statusline", "--url", "nonsense"])).code).toBe(2);
  });

  test("the endpoint answers by the current caps, and refuses invalid ids", async () => {
    const status = await (
      await gateway.get("/v1/route/status?session=s-1&goal=release", { authorization: `Bearer ${token}` })
    ).json();
    expect(status).toMatchObject({
      goal: { id: "s-1/release", hard_cap_usd: "5", held_usd: "0" },
      day: { id: new Date().toISOString().slice(0, 10), hard_cap_usd: "50" },
      model: { key: "vendor_v4_flash", upstream_id: "deepseek/deepseek-v4-flash" },
    });
    const long = await gateway.get(`/v1/route/status?goal=${"x".repeat(300)}`, { authorization: `Bearer ${token}` });
    expect([long.status, (await long.json()).detail]).toEqual([422, "goal: must have 1 to 256 characters."]);
  });
});
