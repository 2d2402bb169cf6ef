import { get } from "node:http";
import { createServer } from "node:net";
import { hostAndPort } from "#config/host-names.ts";
import type { Settings } from "#config/settings.ts";
import { type Check, codeOf } from "./check.ts";

const answerLimitMs = 2_000;
const maxAnswerBytes = 65_536;

/** Checks whether a gateway can listen at its address, or already does. */
export async function checkPort({ host, port }: Pick<Settings, "host" | "port">): Promise<Check> {
  const check = (status: Check["status"], detail: string, advice?: string): Check => ({
    name: "port",
    status,
    detail,
    ...(advice === undefined ? {} : { advice }),
  });
  if (port === 0) return check("ok", "any free port");
  const problem = await listenProblem(host, port);
  const address = hostAndPort(host, port);
  if (problem === undefined) return check("ok", `${address} is free`);
  if (problem !== "EADDRINUSE") return check("fail", `${address} ${problem}`, "check HOST and PORT");
  if (await gatewayAnswers(host, port)) return check("ok", `a Smart Gateway answers at ${address}`);
  return check("warn", `${address} is taken by another program`, "end that program, or set PORT");
}

function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", (error) => done(codeOf(error)));
    server.listen(port, host, () => server.close(() => done(undefined)));
  });
}

/** Asks it for its health, which no other program answers like this. Never through a proxy, which `fetch` would use. */
function gatewayAnswers(host: string, port: number): Promise<boolean> {
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return new Promise((done) => {
    const signal = AbortSignal.timeout(answerLimitMs);
    // A gateway on loopback answers to loopback names only, and one on another address to its own.
    const request = get({ host: reached, port, path: "/healthz", signal }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > maxAnswerBytes) reply.destroy();
      });
      reply.on("close", () => done(isHealthReport(text)));
      reply.on("error", () => done(false));
    });
    request.on("error", () => done(false));
  });
}

function isHealthReport(text: string): boolean {
  try {
    const report: unknown = JSON.parse(text);
    return typeof report === "object" && report !== null && "policy_version" in report && "models" in report;
  } catch {
    return false;
  }
}
