import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "#domain/chat.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { completes, fails } from "#simulator/behaviours.ts";
import { authorization, call, startUpstream } from "../harness/gateway.ts";
import { serve } from "../harness/process.ts";

/**
 * A run with a thousand planted secrets: then every byte that has left the gateway (logs, metrics, answers, errors, its
 * database files, what the upstream was sent) is searched for them. Secrets are made here, piece by piece, so that no
 * file holds anything that looks like one.
 */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
const random = seededRandom(20_260_823);
const letters = (length: number, from = alphabet) =>
  Array.from({ length }, () => from[Math.floor(random() * from.length)]).join("");

/** The form of a secret, and the text around it in which a person or a tool would write it. */
const kinds: readonly ((secret: (body: string) => string) => string)[] = [
  (secret) => `use ${["ghp", "_"].join("")}${secret(letters(36))} for the clone`,
  (secret) => `export AWS_SECRET_ACCESS_KEY=${secret(letters(40))}`,
  (secret) => `password: ${secret(`${letters(12)}!${letters(6)}7`)}`,
  (secret) => `postgres://app:${secret(letters(20))}@db.internal:5432/app`,
  (secret) => `curl -H "Authorization: Bearer ${secret(letters(40))}" https://api.example.test`,
  (secret) => `{"api_key": "${secret(letters(32))}"}`,
  (secret) => `${["sk", "-"].join("")}proj-${secret(letters(48))}`,
  (secret) =>
    `-----BEGIN ${["PRIVATE", "KEY"].join(" ")}-----\n${secret(letters(64))}\n-----END ${["PRIVATE", "KEY"].join(" ")}-----`,
];

test("of a thousand planted secrets none is in a log, a metric, an error, an answer, the database or a request to the upstream", async () => {
  const secrets: string[] = [];
  const plant = (index: number): string => {
    const kind = kinds[index % kinds.length];
    if (kind === undefined) throw new Error("unreachable: the remainder is an index");
    return kind((body) => {
      secrets.push(body);
      return body;
    });
  };
  const upstream = await startUpstream({
    // Every third request is answered with an error that quotes the request, as some upstreams do.
    script: (request) =>
      request.index % 3 === 0
        ? fails(400, `cannot process: ${JSON.stringify(request.body).slice(0, 400)}`)
        : completes(),
  });
  await using gateway = await serve({ UPSTREAM_BASE_URL: upstream.url, LOG_LEVEL: "trace" });
  const seen: string[] = [];
  const send = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const reply = await call(`${gateway.url}${path}`, {
      method: "POST",
      headers: { ...authorization, "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    seen.push(JSON.stringify([...reply.headers]), await reply.text());
  };

  let planted = 0;
  while (planted < 1_000) {
    const text = () => plant(planted++);
    const messages: JsonObject[] = [
      { role: "system", content: `Context:\n${text()}` },
      { role: "user", content: [{ type: "text", text: `Please look at this\n${text()}\nand fix it` }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c1", type: "function", function: { name: "run", arguments: JSON.stringify({ command: text() }) } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: `exit 1\nerror: ${text()}` },
      { role: "user", content: text() },
    ];
    const stream = planted % 2 === 0;
    await send("/v1/chat/completions", {
      model: "smart-router",
      stream,
      messages,
      metadata: { session_id: "s", goal_id: "g" },
    });
    // Errors of refused requests are made from the same text.
    await send("/v1/chat/completions", { model: "smart-router-free", messages, metadata: { sensitive: false } });
    await send("/v1/route/decision", { task: { task_id: "t", instruction: text(), sensitive: false } });
    await send("/v1/chat/completions", { model: text(), messages });
    await send("/v1/chat/completions", { model: "smart-router", messages: [{ role: text(), content: "x" }] });
    await send("/v1/chat/completions", `{"model": "smart-router", "messages": [{"role": "user", "content": "${text()}`);
  }
  const secretId = `${["ghp", "_"].join("")}${letters(36)}`;
  secrets.push(secretId.slice(4));
  await send(
    "/v1/chat/completions",
    { model: "smart-router", messages: [{ role: "user", content: "hi" }] },
    { "x-request-id": secretId, "x-goal-id": secretId, "x-task-id": secretId },
  );
  expect(secrets.length).toBeGreaterThan(1_000);

  const metrics = await (await call(`${gateway.url}/metrics`)).text();
  gateway.signal("SIGTERM");
  expect(await gateway.exited()).toBe(0);
  const folder = join(gateway.directory, "data");
  const database = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  const places = {
    log: gateway.output(),
    metrics,
    answers: seen.join("\n"),
    database: database.join("\n"),
    upstream: JSON.stringify(upstream.requests.map(({ body, headers }) => ({ body, headers }))),
  };
  expect(places.database).toContain("goal/s/g");
  for (const [place, text] of Object.entries(places)) {
    const found = secrets.filter((secret) => text.includes(secret));
    expect({ place, found: found.length }).toEqual({ place, found: 0 });
  }
  await upstream.stop();
});
