import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { completes, fails } from "#simulator/behaviours.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, authorization, call, eventually, startUpstream } from "../harness/gateway.ts";
import { describeOnPostgres, type PostgresSuite } from "../harness/postgres-suite.ts";
import { serve } from "../harness/process.ts";

/**
 * Every development case of the privacy gate through a running gateway with everything on: records, trace log, metrics, spans,
 * exports, the dashboard's API. All of them twice, because the second time every text is known and nothing is scanned.
 * Then every byte that has left the gateway is searched for the secrets.
 */
const file = join(import.meta.dir, "../../../shared/secrets-dev/cases.jsonl");
const isPresent = existsSync(file);
const decode = (encoded: string) =>
  Buffer.from(Buffer.from(encoded, "base64").map((byte) => byte ^ 0x2a)).toString("utf8");
const cases = (isPresent ? readFileSync(file, "utf8").trim().split("\n") : [])
  .map((line): { id: string; text: string; secrets: string[] } => {
    const { id, text, secrets } = JSON.parse(line);
    return { id, text: decode(text), secrets: secrets.map(decode) };
  })
  .filter(({ secrets }) => secrets.length > 0);

/** The places of a text in a conversation. */
const places: readonly ((text: string) => object[])[] = [
  (text) => [{ role: "user", content: text }],
  (text) => [
    { role: "system", content: text },
    { role: "user", content: "hello" },
  ],
  (text) => [{ role: "user", content: [{ type: "text", text }] }],
  (text) => [
    { role: "user", content: "run it" },
    { role: "assistant", content: null, tool_calls: [callWith(JSON.stringify({ command: text }))] },
    { role: "tool", tool_call_id: "c1", content: "ok" },
  ],
  (text) => [
    { role: "user", content: "run it" },
    { role: "assistant", content: null, tool_calls: [callWith("{}")] },
    { role: "tool", tool_call_id: "c1", content: text },
  ],
];
const callWith = (text: string) => ({ id: "c1", type: "function", function: { name: "run", arguments: text } });

/** Each form in which a secret may be in stored or sent bytes: plain, and inside JSON once or twice. */
function formsOf(secret: string): string[] {
  const once = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, once, JSON.stringify(once).slice(1, -1)])];
}

/** Runs the drill on a database; `stored` returns all bytes that are in it afterwards. */
async function drill(databaseUrl: string | undefined, stored: (folder: string) => Promise<string>): Promise<void> {
  const spans: string[] = [];
  const collector = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      spans.push(await request.text());
      return Response.json({});
    },
  });
  const upstream = await startUpstream({
    // Some upstreams quote the request in an error.
    script: (request) =>
      request.index % 5 === 0 ? fails(400, `cannot process: ${JSON.stringify(request.body)}`) : completes(),
  });
  await using gateway = await serve({
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_API_KEY: "drill-upstream-key-0123456789",
    LOG_LEVEL: "trace",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.origin,
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_METRIC_EXPORT_INTERVAL: "500",
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  });
  const answers: string[] = [];
  const statuses: number[] = [];
  const send = async (path: string, body: object) => {
    const reply = await call(`${gateway.url}${path}`, {
      method: "POST",
      headers: { ...authorization, "content-type": "application/json", "x-goal-id": "drill" },
      body: JSON.stringify(body),
    });
    statuses.push(reply.status);
    answers.push(JSON.stringify([...reply.headers]), await reply.text());
  };
  const sendCase = async (index: number, text: string) => {
    const place = places[index % places.length];
    if (place === undefined) throw new Error("unreachable: the remainder is an index");
    const stream = index % 2 === 0;
    await send("/v1/chat/completions", { model: "smart-router-flash", stream, messages: place(text) });
    await send("/v1/route/decision", { task: { task_id: "t", instruction: text } });
  };
  const round = async () => {
    const left = [...cases.entries()];
    const worker = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await sendCase(next[0], next[1].text);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  };
  await round();
  await round();
  expect(statuses.length).toBe(4 * cases.length);
  // The upstream has refused some; the gateway itself has only denied or answered.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(3 * cases.length);

  const get = async (path: string): Promise<string> => {
    const reply = await call(gateway.url + path, { headers: { ...authorization, "x-smart-gateway-csrf": "1" } });
    expect([path, reply.status]).toEqual([path, 200]);
    return reply.text();
  };
  const list = "/dashboard/api/decisions?range=today&limit=100";
  await eventually(async () => JSON.parse(await get(list)).rows.length > 0);
  const { rows }: Answer = JSON.parse(await get(list));
  const ids: string[] = rows.map(({ decision_id }: Answer) => decision_id);
  expect(ids.length).toBeGreaterThan(20);
  const views = ["session", "summary?range=today", "sessions?range=today", "budgets?range=today"].concat(
    ["holds", "models", "actions", "policy"],
    ids.map((id) => `decisions/${id}`),
  );
  const dashboard = [await get(list)];
  for (const view of views) dashboard.push(await get(`/dashboard/api/${view}`));
  const metrics = (await get("/metrics")) + (await get("/v1/route/status")) + (await get("/healthz"));
  gateway.signal("SIGTERM");
  expect(await gateway.exited()).toBe(0);
  const env = { DATABASE_URL: databaseUrl ?? `sqlite:${join(gateway.directory, "data", "gateway.db")}` };
  const exports = await Promise.all(
    ["jsonl", "csv"].map((format) => runCommand(["decisions", "export", "--format", format], { env })),
  );
  for (const { code, out } of exports) {
    expect(code).toBe(0);
    expect(out.split("\n").length).toBeGreaterThan(2 * cases.length);
  }
  const written = {
    log: gateway.output(),
    metrics,
    spans: spans.join("\n"),
    answers: answers.join("\n"),
    dashboard: dashboard.join("\n"),
    exports: exports.map(({ out }) => out).join("\n"),
    database: await stored(join(gateway.directory, "data")),
    upstream: JSON.stringify(upstream.requests.map(({ body, headers }) => ({ body, headers }))),
  };
  await upstream.stop();
  await collector.stop(true);
  for (const [place, text] of Object.entries(written)) {
    expect([place, text.length > 1_000]).toEqual([place, true]);
    const found = cases.filter(({ secrets }) => secrets.flatMap(formsOf).some((form) => text.includes(form)));
    expect({ place, found: found.map(({ id }) => id) }).toEqual({ place, found: [] });
  }
  // The searched bytes are those that the requests have left.
  expect(written.database).toContain("drill");
  expect(written.upstream).toContain("[REDACTED:");
}

describe.skipIf(!isPresent)(
  "the development cases twice through a gateway (skipped where ../shared/secrets-dev is absent)",
  () => {
    test("leave no secret anywhere, on SQLite", async () => {
      await drill(undefined, async (folder) =>
        readdirSync(folder)
          .map((name) => readFileSync(join(folder, name), "latin1"))
          .join("\n"),
      );
    }, 120_000);

    describeOnPostgres("the drill", (suite: PostgresSuite) => {
      test("leave no secret anywhere, on PostgreSQL", async () => {
        await drill(suite.url, async () => {
          const tables = await suite.run(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
          );
          const texts: string[] = [];
          for (const { schemaname, tablename } of tables) {
            const rows = await suite.run(`SELECT t::text AS row FROM "${schemaname}"."${tablename}" t`);
            texts.push(...rows.map(({ row }) => String(row)));
          }
          return texts.join("\n");
        });
      }, 120_000);
    });
  },
);
