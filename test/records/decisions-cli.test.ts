import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand, spawnCommand } from "../harness/command-line.ts";
import { start, type TestGateway } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "decisions-cli-"));
const databaseUrl = `sqlite:${join(folder, "gateway.db")}`;
let gateway: TestGateway;
let decisionId: string;

beforeAll(async () => {
  gateway = await start({ env: { DATABASE_URL: databaseUrl } });
  for (let n = 0; n < 3; n++) await (await gateway.chat({}, { "x-request-id": `request-${n}` })).text();
  const stuck = await gateway.chat({ model: "smart-router" }, { "x-same-error-count": "3", "x-goal-id": '=cmd,"x"' });
  await stuck.text();
  decisionId = stuck.headers.get("x-smart-gateway-decision-id") ?? "";
  while ((await gateway.gateway.records.query({}, { limit: 10 })).records.length < 4) await Bun.sleep(10);
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const spawn = (args: readonly string[], url = databaseUrl) => spawnCommand(args, { env: { DATABASE_URL: url } });
const run = (...args: string[]) => runCommand(args, { env: { DATABASE_URL: databaseUrl } });

describe("explain", () => {
  test("begins with a sentence, then the stages and what would have changed the decision", async () => {
    const { out, code } = await run("explain", decisionId);
    expect(code).toBe(0);
    const [sentence = ""] = out.split("\n");
    expect(sentence).toStartWith("Went to pro because the same error came back 3 times (`same_error_count`). Cost $");
    expect(out).toContain("▶ rules    hard_pro_rule");
    expect(out).toContain("With same_error_count 1 instead of 3: flash");
    expect(out.indexOf("privacy")).toBeLessThan(out.indexOf("health"));
    expect(out).toMatch(/^received +\d.*\nended +\d/m);
    expect(out).toMatch(/^policy hash +[0-9a-f]{16}$/m);
  });

  test("shows the attempts, and says what the score means", async () => {
    const { out } = await run("explain", "request-1");
    expect(out).toMatch(/^ +1 +vendor_v4_flash +EXECUTE +answered +200/m);
    expect(out).toMatch(/score +flash: it is easier than \d\d % of asks/);
  });

  test("of an unknown id fails, and says which ids there are", async () => {
    const { err, code } = await run("explain", "nobody");
    expect([code, err.includes("X-Smart-Gateway-Decision-Id")]).toEqual([1, true]);
  });
});

describe("decisions", () => {
  test("tail prints the newest, then new ones, each once", async () => {
    const child = spawn(["decisions", "tail", "-n", "2", "--json"]);
    const lines: string[] = [];
    const reading = (async () => {
      let text = "";
      for await (const bytes of child.stdout) {
        text += new TextDecoder().decode(bytes);
        const parts = text.split("\n");
        text = parts.pop() ?? "";
        lines.push(...parts);
      }
    })();
    while (lines.length < 2) await Bun.sleep(10);
    await (await gateway.chat({}, { "x-request-id": "later-1" })).text();
    while (!lines.some((line) => line.includes('"later-1"'))) await Bun.sleep(10);
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
    await reading;
    const ids = lines.map((line) => JSON.parse(line).decision_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(3);
  });

  test("export writes all records of a range, the oldest first, as lines of JSON", async () => {
    const { out } = await run("decisions", "export", "--since", "1h");
    const records = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.length).toBeGreaterThanOrEqual(4);
    expect(records.map(({ seq }) => seq)).toEqual(records.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect((await run("decisions", "export", "--since", "2020-01-01", "--until", "2020-01-02")).out).toBe("");
  });

  test("without a database they say so, and end with 2", async () => {
    const child = spawn(["decisions", "tail"], `sqlite:${join(folder, "none.db")}`);
    const err = await new Response(child.stderr).text();
    expect([await child.exited, err.includes("no database")]).toEqual([2, true]);
  });
});

describe("policy backtest", () => {
  test("under the active policy says that nothing changes; under another it shows the changes, as a table or as JSON", async () => {
    const same = join(folder, "same.yaml");
    writeFileSync(same, "{}\n");
    // The test gateway's policy differs from the shipped one only in its timeouts, which decide nothing.
    const unchanged = await run("policy", "backtest", same, "--since", "1h");
    expect(unchanged.out).toStartWith("Nothing changes: all ");
    const file = join(folder, "new.yaml");
    writeFileSync(file, "hard_rules:\n  same_error_count: 9\n");
    const { out, code } = await run("policy", "backtest", file, "--since", "1h");
    expect(code).toBe(0);
    expect(out).toMatch(/^1 of \d+ requests would have gone elsewhere; saves \$/);
    expect(out).toContain(decisionId);
    const result = JSON.parse((await run("policy", "backtest", file, "--json")).out);
    expect(result).toMatchObject({
      changed: 1,
      changes: [{ from_cause: "hard_pro_rule", example_decision_id: decisionId }],
    });
  });
});
