import { once } from "node:events";
import { get } from "node:http";
import { json } from "node:stream/consumers";
import { type CommandSpec, settingsInForce } from "#cli/options.ts";
import { codeFor, type Result } from "#cli/output.ts";
import { isSection } from "#config/config-file.ts";
import { hostAndPort } from "#config/host-names.ts";
import type { HealthReport } from "#http/server-options.ts";
import { unavailable } from "#operator/problem.ts";

export const commands: readonly CommandSpec[] = [
  {
    name: "healthcheck",
    async run(): Promise<Result> {
      const { host, port } = settingsInForce();
      const running = await runningGateway(host, port);
      if (running === undefined) throw unavailable(`no Smart Gateway answers at ${hostAndPort(host, port)}`);
      const { health } = running;
      return { value: health, text: health.status, exitCode: codeFor(health.status !== "unavailable") };
    },
  },
];

const answerLimitMs = 2_000;

export interface RunningGateway {
  readonly health: HealthReport["body"];
  /** Whether it is in demo mode. */
  readonly demo: boolean;
}

/** What the gateway at this address says; undefined where none answers. Never through a proxy, as `fetch` would. */
export async function runningGateway(host: string, port: number): Promise<RunningGateway | undefined> {
  // A gateway on loopback answers to loopback names only, and one on another address to its own.
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  const signal = AbortSignal.timeout(answerLimitMs);
  try {
    const [reply] = await once(get({ host: reached, port, path: "/healthz", signal }), "response", { signal });
    const report: unknown = await json(reply);
    if (!isSection(report) || !("policy_version" in report && "models" in report)) return undefined;
    const demo = reply.headers["x-smart-gateway-demo"] === "true";
    return { health: report as unknown as HealthReport["body"], demo }; // by the line above
  } catch {
    return undefined; // nobody listens, in time, or what answers is not JSON
  }
}
