import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fails } from "#simulator/behaviours.ts";
import { eventually, type StartOptions, start, type TestGateway } from "../harness/gateway.ts";

/** A gateway with its dashboard, and with a database that the command line can open too. */
export interface DashboardGateway extends AsyncDisposable {
  readonly gateway: TestGateway;
  /** The page: `http://127.0.0.1:…/dashboard`. */
  readonly url: string;
  readonly database: string;
  /** Sends requests of every kind, and waits until they are recorded. Returns the number of records. */
  traffic(): Promise<number>;
  /** Waits until this many requests are recorded. */
  recorded(requests: number): Promise<void>;
}

export async function startDashboard(options: StartOptions = {}): Promise<DashboardGateway> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-dashboard-"));
  const database = `sqlite:${join(folder, "gateway.db")}`;
  const gateway = await start({ ...options, env: { DATABASE_URL: database, ...options.env } });
  let sent = 0;
  const recorded = (requests: number): Promise<void> =>
    eventually(async () => {
      const answer = await gateway.get("/dashboard/api/summary?range=24h");
      return answer.status === 200 && (await answer.json()).total.requests >= requests;
    });
  return {
    gateway,
    database,
    url: `${gateway.url}/dashboard`,
    recorded,
    async traffic() {
      sent += await sendTraffic(gateway);
      await recorded(sent);
      return sent;
    },
    async [Symbol.asyncDispose]() {
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const goal = (session: string, name: string): Record<string, string> => ({
  "x-session-id": session,
  "x-goal-id": name,
});

/** Answers of each tier, a hard rule, a fail-over, a failure, and refusals by gateway and schema. */
async function sendTraffic(gateway: TestGateway): Promise<number> {
  const message = (content: string) => ({ messages: [{ role: "user", content }] });
  const replies = [
    await gateway.chat(message("Rename tmp to remaining."), goal("s1", "refactor")),
    await gateway.chat({ ...message("Write a test for the parser."), stream: true }, goal("s1", "refactor")),
    await gateway.chat(message("Explain this regular expression."), goal("s1", "flaky-tests")),
    await gateway.chat(
      message("Summarise the log."),
      goal("nightly-run-of-the-build-farm", "find-what-broke-the-release"),
    ),
    await gateway.chat(
      { ...message("Design the settlement."), model: "smart-router-pro" },
      goal("s2", "migrate-billing"),
    ),
    await gateway.chat(
      { ...message("It fails again."), model: "smart-router" },
      { ...goal("s1", "flaky-tests"), "x-same-error-count": "3" },
    ),
    await gateway.chat({ ...message("Say hello."), model: "smart-router-free", metadata: { sensitive: false } }),
    await gateway.chat({ ...message("Say hello."), model: "smart-router-free" }),
    await gateway.chat({ ...message("Say hello."), max_tokens: -1 }),
  ];
  gateway.upstream.next(fails(503));
  replies.push(await gateway.chat(message("Try until it works."), goal("s1", "refactor")));
  gateway.upstream.next(fails(404, "no such model"));
  replies.push(await gateway.chat(message("This one fails."), goal("s1", "refactor")));
  await Promise.all(replies.map((reply) => reply.text()));
  return replies.length;
}
