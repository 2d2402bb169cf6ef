import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tokenDigest } from "#config/auth-keys.ts";
import { databases } from "../dashboard/fixture.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, call, eventually, start, type TestGateway, token } from "../harness/gateway.ts";

/** An operator's way with the keys of callers: the command line as a process, gateways with sockets, one database. */
test.each(databases().map(({ name, open }) => [name, open] as const))(
  "%s: keys are made, capped, listed and withdrawn, on every node within a second",
  async (_, open) => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-keys-"));
    const opened = await open();
    const env = { DATABASE_URL: opened === "sqlite" ? `sqlite:${join(folder, "gateway.db")}` : opened };
    await using one = await start({ env: { ...env, NODE_ID: "one" } });
    await using two = await start({ env: { ...env, NODE_ID: "two" } });
    const keys = (...args: string[]) => runCommand(["keys", ...args], { env });
    const status = async (at: TestGateway, bearer: string, body = {}) =>
      (await at.chat(body, { authorization: `Bearer ${bearer}` })).status;
    const becomes = async (wanted: number, bearer: string) => {
      const sinceMs = performance.now();
      for (const at of [one, two]) await eventually(async () => (await status(at, bearer)) === wanted);
      expect(performance.now() - sinceMs).toBeLessThan(1_500); // a second, and the requests themselves
    };
    expect((await keys()).out).toContain("There are no keys");
    expect(await status(one, token)).toBe(200);

    const added = await keys("add", "ci", "--day-usd", "0.05", "--expires", "2999-12-31");
    expect([added.code, added.out]).toEqual([0, expect.stringContaining("It is the first key")]);
    expect(added.out).toContain("within a second; until then callers get 401");
    const [ci = ""] = added.out.split("\n");
    await becomes(401, token);
    await becomes(200, ci);
    // Flash: 0.28 USD per million output tokens.
    expect(await status(two, ci, { max_tokens: 100_000, n: 3 })).toBe(403);
    // A cap below what any call may cost: nothing is ever spent. It has its line all the same, before the first request too.
    const [never = ""] = (await keys("add", "small", "--day-usd", "0.00001")).out.split("\n");
    const unused = { name: "small", spent_nano_usd: 0, held_nano_usd: 0, hard_nano_usd: 10_000, used_share: 0 };
    const budgets: Answer = (await runCommand(["budgets", "show", "--json"], { env })).json();
    expect(budgets.keys).toMatchObject([{ name: "ci" }, unused]);
    await becomes(403, never);
    const api = async (path: string): Promise<Answer> => (await call(`${one.url}/dashboard/api/${path}`)).json();
    expect((await api("budgets")).keys).toMatchObject([{ name: "ci" }, unused]);
    expect((await api("summary")).caps.keys).toMatchObject([{ name: "ci" }, unused]);
    const second: Answer = (await keys("add", "laptop", "--rpm", "2", "--json")).json();
    await becomes(200, second.token);
    await eventually(async () => (await status(one, second.token)) === 429);
    const limited = await one.chat({}, { authorization: `Bearer ${second.token}` });
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(limited.headers.get("x-should-retry")).toBe("true");

    // The dashboard has a line for each cap, and says when one is nearly reached.
    const [tight = ""] = (await keys("add", "tight", "--day-usd", "0.0003")).out.split("\n");
    const small = { max_tokens: 100 };
    await eventually(async () => (await status(one, tight, small)) === 200);
    while ((await status(one, tight, small)) === 200);
    const detailFor = async (bearer: string): Promise<string> =>
      (await (await one.chat(small, { authorization: `Bearer ${bearer}` })).json()).detail;
    expect(await detailFor(tight)).toContain("or wait for the next UTC day");
    expect(await detailFor(never)).toContain("waiting does not help");
    const line = { kind: "key", name: "tight", hard_nano_usd: 300_000, cap_from: "key" };
    await eventually(async () => (await api("budgets")).keys.some(({ used_share }: Answer) => used_share >= 0.8));
    expect((await api("budgets")).keys[0]).toMatchObject(line);
    const need = { kind: "cap_near", title: expect.stringContaining("The key tight has used") };
    expect((await api("summary")).needs_you).toContainEqual(expect.objectContaining(need));

    const refused = await Promise.all([
      keys("add", "ci", "--day-usd", "7"),
      keys("add", "old", "--expires", "2020-01-01"),
      keys("add", "a b"),
      keys("revoke", "cj"),
    ]);
    expect(refused.map(({ code }) => code)).toEqual([1, 2, 2, 1]);
    expect(refused[3]?.err).toContain("did you mean ci?");

    // What a caller is told to mend, an operator sees: who it was, which field, which model.
    await one.chat({ model: "gpt-none" }, { authorization: `Bearer ${ci}`, "x-request-id": "misspelt" });
    const rejected = { key: "ci", field: "model", model: "gpt-none", code: "invalid_request", status: 422 };
    expect(one.log.findLast(({ event }) => event === "request_rejected")?.fields).toMatchObject(rejected);
    await eventually(async () => {
      const { out } = await runCommand(["explain", "misspelt"], { env });
      return out.includes("(`model` is gpt-none)") && /key +ci/.test(out);
    });

    let listed: Answer;
    await eventually(async () => {
      listed = (await keys("list", "--json")).json().keys;
      return listed[0].last_used_ms !== null;
    });
    expect(listed).toMatchObject([
      { label: "ci", state: "in force", from: "database", day_hard_nano_usd: 50_000_000, rpm: null },
      { label: "small", spent_today_nano_usd: 0, held_nano_usd: 0, day_hard_nano_usd: 10_000 },
      { label: "laptop", state: "in force", rpm: 2 },
      { label: "tight" },
    ]);
    expect(listed[0].spent_today_nano_usd).toBeGreaterThan(0);
    expect(JSON.stringify(listed)).not.toContain(ci);

    expect((await keys("revoke", "ci")).code).toBe(0);
    await becomes(401, ci);
    // The last one that is withdrawn does not open the gateway to everybody.
    expect((await keys("revoke", "laptop")).code).toBe(0);
    await becomes(401, second.token);
    expect(await status(one, token)).toBe(401);
    expect((await call(`${two.url}/dashboard/api/actions`).then((reply) => reply.json())).actions).toMatchObject([
      { action: "key_revoked", target: "laptop" },
      { action: "key_revoked", target: "ci" },
      { action: "key_added", target: "tight" },
      { action: "key_added", target: "laptop" },
      { action: "key_added", target: "small" },
      { action: "key_added", target: "ci" },
    ]);
    rmSync(folder, { recursive: true, force: true });
  },
  60_000,
);

test("a key of the file that has expired is refused, and a file that is written again and again is read all the same", async () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-keys-"));
  const file = join(folder, "keys");
  const line = (label: string, rest = "") => `${tokenDigest(`token-of-${label}`)} ${label} ${rest}`;
  writeFileSync(file, [line("old", "expires=2020-01-01"), line("alice")].join("\n"));
  await using gateway = await start({ env: { AUTH_KEYS_FILE: file } });
  const status = async (label: string) =>
    (await gateway.chat({}, { authorization: `Bearer token-of-${label}` })).status;
  expect([await status("old"), await status("alice")]).toEqual([401, 200]);
  const stranger = await gateway.chat({}, { authorization: "Bearer long-enough-but-unknown" });
  expect([stranger.status, stranger.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  let writes = 0;
  const withdrawnMs = performance.now();
  const writing = setInterval(() => writeFileSync(file, `# ${writes++}\n${line("bob")}\n`), 60);
  await eventually(async () => (await status("alice")) === 401 && (await status("bob")) === 200);
  clearInterval(writing);
  expect(performance.now() - withdrawnMs).toBeLessThan(1_500);
  expect(writes).toBeGreaterThan(5);
  rmSync(folder, { recursive: true, force: true });
});
