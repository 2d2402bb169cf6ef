import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import { RoutingDecision } from "#domain/routing.ts";
import { aggregatorPages } from "#simulator/testing/aggregator-pages.ts";
import { type CommandOptions, runCommand } from "../harness/command-line.ts";
import { type Answer, startUpstream } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const run = (args: readonly string[], options: Omit<CommandOptions, "cwd"> = {}) =>
  runCommand(args, { cwd: folder, ...options });

describe("the command line", () => {
  test("answers incorrect usage with exit code 2 and a suggestion", async () => {
    const [command, option, argument] = await Promise.all([
      run(["polcy", "check"]),
      run(["models", "--jsno"]),
      run(["policy", "check", "a", "b"]),
    ]);
    expect([command.code, option.code, argument.code]).toEqual([2, 2, 2]);
    expect(command.err).toContain("Did you mean policy?");
    expect(option.err).toContain("--jsno");
    expect(argument.err).toContain("too many arguments");
  });
});

describe("smart-gateway serve", () => {
  test("does not start with invalid settings or an invalid policy: all problems at once, exit code 2", async () => {
    const policy = file("serve.yaml", "budget:\n  per_goal_hard: 1\nhealth:\n  open_base_ms: soon\n");
    const keys = file("serve.keys", "not a digest\n");
    const registry = file("serve-models.yaml", "models:\n  vendor_v4_pro: { colour: red }\n");
    const bad = { ROUTING_POLICY_PATH: policy, MODEL_REGISTRY_PATH: registry, AUTH_KEYS_FILE: keys };
    const [settings, files, all, doctor, workers] = await Promise.all([
      run(["serve"], { env: { PORT: "eighty", WORKERS: "none" } }),
      run(["serve"], {
        env: { PORT: "0", DATABASE_URL: "sqlite::memory:", ROUTING_POLICY_PATH: policy },
      }),
      run(["serve"], { env: { PORT: "eighty", WORKERS: "none", ...bad } }),
      run(["doctor", "--offline"], { env: { PORT: "eighty", ...bad } }),
      run(["serve"], { env: { PORT: "1", WORKERS: "3", DATABASE_URL: "sqlite:workers.db", ...bad } }),
    ]);
    expect([settings.code, files.code, all.code, doctor.code, workers.code]).toEqual([2, 2, 2, 2, 2]);
    for (const place of ["serve.yaml:2", "serve.yaml:4", "serve-models.yaml:2", "serve.keys:1"]) {
      expect(all.err).toContain(place);
      expect(doctor.out).toContain(place);
      // Once, however many workers there are.
      expect(workers.err.split(place)).toHaveLength(2);
    }
    for (const name of ["PORT", "WORKERS"]) expect(all.err).toContain(`${name}: must be a whole number`);
    for (const name of ["PORT", "WORKERS"]) expect(settings.err).toContain(`${name}: must be a whole number`);
    expect(files.err).toContain("serve.yaml:2\n  budget.per_goal_hard: unknown key");
    expect(files.err).toContain("serve.yaml:4\n  health.open_base_ms: ");
  });
});

describe("smart-gateway policy", () => {
  const good = file("good.yaml", "budget:\n  per_goal_hard_usd: 1e-9\n");
  file("bad.yaml", "budget:\n  per_goal_hard: 1\nrouting:\n  flash_below: 90\n  pro_form: 60\n");

  test("check says that a file is valid, and shows its caps in US dollars", async () => {
    const { out, code } = await run(["policy", "check", good]);
    expect(code).toBe(0);
    expect(out).toContain("soft $0.000000001  hard $0.000000001");
  });

  test("show prints a policy that can be loaded again", async () => {
    const { out } = await run(["policy", "show", good]);
    expect(Policy.parse(Bun.YAML.parse(out))).toEqual(Policy.parse({ budget: { per_goal_hard_usd: 1e-9 } }));
  });
});

describe("smart-gateway models", () => {
  test("lists the active registry with exact prices", async () => {
    const own = file("models.yaml", "models:\n  vendor_v4_pro: { prices: { output: 0.000000001 } }\n");
    const [table, json] = await Promise.all([run(["models"]), run(["models", "list", own, "--json"])]);
    expect(table.out).toMatch(/vendor_v4_pro\s+senior\s+deepseek\/deepseek-v4-pro\s+0\.435\s+0\.003625\s+0\.87/);
    expect(json.json()[0]).toMatchObject({ key: "vendor_v4_pro", prices: { output: "0.000000001" }, used: true });
  });
});

describe("smart-gateway route", () => {
  test("prints the same decision as the dry run: exactly its eleven fields", async () => {
    const fields = "kind=AUTH,risk_level=HIGH";
    const { json, code } = await run(["route", "rotate the login keys", "--fields", fields, "--json"]);
    expect(code).toBe(0);
    expect(RoutingDecision.parse(json())).toMatchObject({
      cause: "hard_pro_rule",
      model: "vendor_v4_pro",
      hard_rule: true,
    });
    expect(Object.keys(json())).toHaveLength(11);
  });

  test("assesses a chat body from a file, after the privacy gate", async () => {
    const body = {
      messages: [
        { role: "user", content: "explain this: AKIAIOSFODNN7EXAMPLE ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5" },
      ],
      metadata: { sensitive: false, kind: "PAYMENT", risk_level: "HIGH" },
    };
    const { json, out } = await run(["route", "-f", file("chat.json", JSON.stringify(body)), "--json", "--details"]);
    expect(json()).toMatchObject({
      decision: { cause: "hard_pro_rule" },
      task: { kind: "PAYMENT", sensitive: true },
      hard_rules: ["guarded_kind"],
      cost: { model: "vendor_v4_pro", other_model: "vendor_v4_flash" },
    });
    expect(json().redactions).toBeGreaterThan(0);
    expect(json().contributions.reasoning_requirement).toBeGreaterThan(0);
    expect(out).not.toContain("ghp_");
  });

  test("takes a list of messages for a chat body", async () => {
    const call = (id: string) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name: "bash", arguments: '{"command":"npm test"}' } }],
      },
      { role: "tool", tool_call_id: id, content: "exit code: 1\nTypeError: x is not a function" },
    ];
    const messages = [{ role: "user", content: "mend the parser" }, ...call("1")];
    const { json } = await run(["route", "-f", file("run.json", JSON.stringify(messages)), "--json", "--details"]);
    expect(json().runtime).toMatchObject({ tool_depth: 1 });
  });

  test("refuses what the endpoint refuses, naming each field, with exit code 2", async () => {
    const [flags, unknown, broken, nothing] = await Promise.all([
      run(["route", "x", "--fields", "kind=AUTZ,ambiguity=2,sensitive=no"]),
      run(["route", "x", "--fields", "knid=AUTH"]),
      run(["route", "-f", "-"], { stdin: "{" }),
      run(["route"]),
    ]);
    const both = await run(["route", "x", "-f", "-"], { stdin: "y" });
    const image = { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] };
    const { code, err } = await run(["route", "-f", "-"], { stdin: JSON.stringify(image) });
    expect([flags.code, unknown.code, broken.code, nothing.code, both.code, code]).toEqual([2, 2, 2, 2, 2, 2]);
    expect(err).toContain("messages[0].content[0]");
    for (const word of ["task.kind: must be one of", "task.ambiguity", "task.sensitive"])
      expect(flags.err).toContain(word);
  });
});

describe("smart-gateway init and doctor", () => {
  test("init writes valid files to start from, which its commands read as they stand, and never overwrites", async () => {
    const key = ["pa$word", "'`#x \"y"].join("");
    const given = { UPSTREAM_API_KEY: key.replaceAll(" ", ""), PORT: "9200" };
    const first = await run(["init", "fresh", "--json", "--per-day-usd", "8", "--per-goal-usd", "2"], { env: given });
    const caps = (await run(["policy", "diff", "fresh/policy.yaml", "--json"])).json().changes;
    expect(caps.map(({ to }: Answer) => to)).toEqual([8, 3.2, 2, 0.8]);
    const wrong = await run(["init", "never"], { env: { PORT: "eighty" } });
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("PORT: must be a whole number")]);
    expect(first.json()).toEqual({ written: ["fresh/.env", "fresh/policy.yaml", "fresh/models.yaml"], kept: [] });
    expect(statSync(join(folder, "fresh/.env")).mode & 0o077).toBe(0);
    writeFileSync(join(folder, "fresh/policy.yaml"), "limits:\n  max_attempts: 3\n");
    const again = await run(["init", "fresh"]);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining("kept     fresh/policy.yaml")]);
    expect(readFileSync(join(folder, "fresh/policy.yaml"), "utf8")).toContain("max_attempts: 3");
    const cwd = join(folder, "fresh");
    const [read, unread] = await Promise.all([
      runCommand(["doctor", "--offline", "--env-file", ".env"], { cwd, env: { PORT: "0" } }),
      runCommand(["doctor", "--offline"], { cwd, env: { PORT: "0" } }),
    ]);
    expect([read.code, read.out]).toEqual([0, expect.stringContaining("https://openrouter.ai/api/v1")]);
    expect(read.out).toContain("./policy.yaml");
    expect(read.out).not.toContain("there is a .env");
    expect(unread.out).toMatch(/WARN {2}settings .*there is a \.env[\s\S]*--env-file \.env/);
    expect(unread.out).toContain("demo mode");
  });

  test("values of an env file are taken literally; what is no line of one is refused with its line", async () => {
    const secret = ["pa$word", "$", "{HOME}", "#1`'", '"x'].join("");
    const upstream = await startUpstream({ pages: aggregatorPages() });
    const lines = ["# comment", "", `UPSTREAM_API_KEY=${secret}`, `UPSTREAM_BASE_URL=${upstream.url}`, "PORT=0\r", ""];
    const env = file("literal.env", lines.join("\n"));
    await run(["doctor", "--env-file", env]);
    expect(upstream.requests.map(({ headers }) => headers["authorization"])).toContain(`Bearer ${secret}`);
    const outside = await run(["doctor", "--env-file", env], { env: { PORT: "none" } });
    expect([outside.code, outside.out]).toEqual([2, expect.stringContaining("PORT: must be")]);
    await upstream.stop();
    const broken = file("broken.env", `PORT=0\nexport HOST=::1\nPORT=1\nNODE ID=x\n${secret}\n`);
    const refused = await run(["serve", "--env-file", broken]);
    expect([refused.code, [...(refused.err.match(/broken\.env:\d/g) ?? [])]]).toEqual([
      2,
      [2, 3, 4, 5].map((n) => `broken.env:${n}`),
    ]);
    expect(refused.err).not.toContain("HOME");
    expect((await run(["serve", "--env-file", "nowhere.env"])).code).toBe(2);
  });

  test("doctor says what is wrong and what to do: configuration with exit code 2, the rest with 1", async () => {
    const taken = Bun.serve({ port: 0, fetch: () => new Response() });
    const password = ["pass", "word1"].join("");
    const postgres = `postgres://gw:${password}@127.0.0.1:1/gw`;
    const [settings, policy, database, server, port] = await Promise.all([
      run(["doctor"], { env: { PORT: "none" } }),
      run(["doctor"], { env: { PORT: "0", ROUTING_POLICY_PATH: "nowhere.yaml" } }),
      run(["doctor"], { env: { PORT: "0", DATABASE_URL: `sqlite:${file("not-a-database", "this is a text file")}` } }),
      run(["doctor"], { env: { PORT: "0", DATABASE_URL: postgres } }),
      run(["doctor"], { env: { PORT: String(taken.port) } }),
    ]);
    await taken.stop(true);
    expect([settings.code, policy.code, database.code, server.code, port.code]).toEqual([2, 2, 1, 1, 0]);
    expect(settings.out).toContain("PORT: must be a whole number");
    expect(policy.out).toContain("does not exist");
    expect(database.out).toMatch(/FAIL {2}database .*not-a-database cannot be used: SQLITE_NOTADB/);
    expect(database.out).toContain("restore a backup");
    expect(server.out).toContain("PostgreSQL does not answer: ERR_POSTGRES_CONNECTION_REFUSED");
    expect(server.out).not.toContain(password);
    expect(port.out).toMatch(/WARN {2}port .*taken by another program/);
  });
});
