import { get } from "node:http";
import type { Command } from "commander";
import { settingsInForce } from "#cli/options.ts";
import { exitCodes, failed, type OutputOptions, print } from "#cli/output.ts";
import { isSection } from "#config/config-file.ts";
import { hostAndPort } from "#config/host-names.ts";

/** `smart-gateway healthcheck`: for containers and scripts, asks the gateway that the settings name. */
export function setUpHealthcheck(command: Command): void {
  command.addHelpText("after", "\nExample: smart-gateway healthcheck").action(async (options: OutputOptions) => {
    const { host, port } = settingsInForce();
    const report = await gatewayHealth(host, port);
    if (report === undefined) throw failed(`no Smart Gateway answers at ${hostAndPort(host, port)}`);
    const { status } = report;
    print(report, options, String(status));
    if (status === "unavailable") process.exitCode = exitCodes.failed;
  });
}

const answerLimitMs = 2_000;
const maxAnswerBytes = 65_536;

/**
 * What the gateway at this address says of its health; undefined where none answers: no other program's answer is like this. Never
 * through a proxy, which `fetch` would use.
 */
export function gatewayHealth(host: string, port: number): Promise<Readonly<Record<string, unknown>> | undefined> {
  // A gateway on loopback answers to loopback names only, and one on another address to its own.
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return new Promise((done) => {
    const signal = AbortSignal.timeout(answerLimitMs);
    const request = get({ host: reached, port, path: "/healthz", signal }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > maxAnswerBytes) reply.destroy();
      });
      reply.on("close", () => done(reportIn(text)));
      reply.on("error", () => done(undefined));
    });
    request.on("error", () => done(undefined));
  });
}

function reportIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const report: unknown = JSON.parse(text);
    return isSection(report) && "policy_version" in report && "models" in report ? report : undefined;
  } catch {
    return undefined;
  }
}
