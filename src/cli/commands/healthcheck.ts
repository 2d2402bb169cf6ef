import { once } from "node:events";
import { get } from "node:http";
import { json } from "node:stream/consumers";
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
    print(report, options, String(report["status"]));
    if (report["status"] === "unavailable") process.exitCode = exitCodes.failed;
  });
}

const answerLimitMs = 2_000;

/**
 * What the gateway at this address says of its health; undefined where none answers: no other program's answer is like this. Never
 * through a proxy, which `fetch` would use.
 */
export async function gatewayHealth(
  host: string,
  port: number,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  // A gateway on loopback answers to loopback names only, and one on another address to its own.
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  const signal = AbortSignal.timeout(answerLimitMs);
  try {
    const [reply] = await once(get({ host: reached, port, path: "/healthz", signal }), "response", { signal });
    const report = await json(reply);
    return isSection(report) && "policy_version" in report && "models" in report ? report : undefined;
  } catch {
    return undefined; // nobody listens, in time, or what answers is not JSON
  }
}
