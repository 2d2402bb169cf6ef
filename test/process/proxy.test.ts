import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../harness/command-line.ts";
import { call, eventually, postChat } from "../harness/gateway.ts";
import { freePort, serve, serveToEnd } from "../harness/process.ts";

/** A gateway whose way to the upstream leads through a proxy of the environment. */
const folder = mkdtempSync(join(tmpdir(), "smart-gateway-proxy-"));
afterAll(() => rmSync(folder, { recursive: true }));

const password = ["pass", "word", "of-the-proxy"].join("-");
const upstream = { UPSTREAM_BASE_URL: "https://upstream.test/v1", UPSTREAM_API_KEY: "key-of-the-upstream" };

test("a proxy that refuses costs nothing, and its password is in no log, record, answer or database", async () => {
  const heads: string[] = [];
  const proxy = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      heads.push(bytes.toString());
      socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
  const env = {
    ...upstream,
    HTTPS_PROXY: `http://me:${password}@127.0.0.1:${port}`,
    DATABASE_URL: `sqlite:${join(folder, "gateway.db")}`,
  };
  await using gateway = await serve({ ...env, LOG_LEVEL: "debug" });
  const reply = await postChat(gateway.url);
  const { detail } = await reply.json();
  expect([reply.status, detail]).toEqual([502, expect.stringContaining("proxy wants a user and a password")]);
  expect(heads[0]).toContain(Buffer.from(`me:${password}`).toString("base64"));
  const id = reply.headers.get("x-smart-gateway-decision-id");
  const record = await eventuallyRecorded(`${gateway.url}/v1/route/decisions/${id}`);
  const doctor = await runCommand(["doctor"], { env });
  expect(doctor.out).toContain("proxy wants a user and a password");
  const budgets = await runCommand(["budgets", "show", "--json"], { env });
  for (const { spent_nano_usd, held_nano_usd } of [...budgets.json().days, ...budgets.json().goals])
    expect([spent_nano_usd, held_nano_usd]).toEqual([0, 0]);

  gateway.signal("SIGTERM");
  await gateway.exited();
  proxy.close();
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  const everything = [detail, record, gateway.output(), doctor.out, doctor.err, ...files].join("\n");
  expect(everything).not.toContain(password);
  expect(everything).not.toContain(Buffer.from(`me:${password}`).toString("base64"));
}, 60_000);

async function eventuallyRecorded(url: string): Promise<string> {
  let text = "";
  await eventually(async () => {
    const reply = await call(url, { headers: { authorization: "Bearer any-token-of-eight" } });
    text = await reply.text();
    return reply.status === 200;
  });
  return text;
}

test("a proxy that cannot be used stops the start with exit code 2, and names the variable, not the password", async () => {
  for (const proxy of [`socks5://me:${password}@127.0.0.1:1`, `https://me:${password}@127.0.0.1:1`]) {
    const { code, output } = await serveToEnd({ ...upstream, HTTPS_PROXY: proxy, MAX_REQUEST_BYTES: "none" });
    expect([code, output]).toEqual([2, expect.stringContaining("HTTPS_PROXY")]);
    expect(output).toContain("MAX_REQUEST_BYTES");
    expect(output).not.toContain(password);
  }
});
