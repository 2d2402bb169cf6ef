// One gateway process of a checkout, with a database of its own, and what the comparison asks it.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const token = "comparison-token-0000";

export async function startGateway(checkout, upstreamUrl, { policy = {}, environment = {} }) {
  const folder = mkdtempSync(join(tmpdir(), "compare-versions-"));
  writeFileSync(join(folder, "policy.yaml"), JSON.stringify(policy));
  const bun = join(checkout, "node_modules", ".bin", "bun");
  const settings = {
    PATH: process.env.PATH,
    HOME: folder,
    HOST: "127.0.0.1",
    PORT: "0",
    NODE_ID: "compared",
    LOG_FORMAT: "json",
    DATABASE_URL: `sqlite:${join(folder, "gateway.db")}`,
    UPSTREAM_BASE_URL: upstreamUrl,
    UPSTREAM_API_KEY: "compared-upstream-key-0000",
    ROUTING_POLICY_PATH: join(folder, "policy.yaml"),
    ...environment,
  };
  const child = spawn(bun, ["src/main.ts", "serve"], {
    cwd: checkout,
    env: settings,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const port = await new Promise((found, fail) => {
    let output = "";
    const look = (bytes) => {
      if (output.length < 50_000) output += bytes;
      const match = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output);
      if (match !== null && /gateway_started|listens on/.test(output)) found(Number(match[1]));
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("exit", (code) =>
      fail(new Error(`${checkout}: the gateway ended with ${code}: ${output.slice(0, 2000)}`)),
    );
  });
  const command = (...args) => {
    const { stdout, status } = spawnSync(bun, ["src/main.ts", ...args], {
      cwd: checkout,
      env: settings,
      encoding: "utf8",
    });
    return { status, output: parsed(stdout) };
  };
  return {
    send: (one) => send(port, one),
    async decision(id) {
      const { body } = await send(port, { method: "GET", path: `/v1/route/decisions/${id}` });
      return parsed(body);
    },
    async totals() {
      const { body } = await send(port, { method: "GET", path: "/metrics" });
      const summary = await send(port, { method: "GET", path: "/dashboard/api/summary" });
      return {
        audit: command("budgets", "audit", "--json"),
        budgets: command("budgets", "show", "--json"),
        metrics: counters(body),
        summary: parsed(summary.body),
      };
    },
    async stop() {
      child.removeAllListeners("exit");
      const ended = new Promise((done) => child.on("exit", done));
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `{method, path, headers, body, abortAfter}`; the answer with its bytes as text. `abortAfter`: hang up after so many bytes. */
function send(port, { method = "POST", path = "/v1/chat/completions", headers = {}, body, abortAfter }) {
  const payload = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const all = {
    authorization: `Bearer ${token}`,
    ...(payload === undefined ? {} : { "content-type": "application/json" }),
    ...headers,
  };
  for (const [name, value] of Object.entries(all)) if (value === null) delete all[name];
  return new Promise((done) => {
    const call = request({ host: "127.0.0.1", port, method, path, headers: all, timeout: 60_000 }, (response) => {
      const parts = [];
      let length = 0;
      const finish = (how) =>
        done({
          status: response.statusCode,
          headers: response.headers,
          body: Buffer.concat(parts).toString("utf8"),
          ended: how,
        });
      response.on("data", (part) => {
        parts.push(part);
        length += part.length;
        if (abortAfter !== undefined && length >= abortAfter) call.destroy();
      });
      response.on("end", () => finish("whole"));
      response.on("error", () => finish("cut"));
    });
    call.on("timeout", () => call.destroy(new Error("no answer within 60 s")));
    call.on("error", (error) => done({ status: 0, headers: {}, body: error.message, ended: "failed" }));
    call.end(payload);
  });
}

/** Names, labels and values of counters that count requests, tokens and money, not time. */
function counters(text) {
  const kept = /_(?:total|count)(?:\{|\s)/;
  const lines = text.split("\n").filter((line) => line.startsWith("smart_gateway_") && kept.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
