import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AnswerOf, BodyOf, DashboardEndpoint } from "#dashboard/api.ts";
import type { DecisionRow } from "#operator/records.ts";
import { call, eventually, type Reply, type StartOptions, start, type TestGateway } from "../harness/gateway.ts";
import { postgresMissing, startPostgres } from "../harness/postgres.ts";

/** A gateway with a database that the dashboard can open, and a client of its API. */
export interface TestDashboard extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly url: string;
  get<E extends DashboardEndpoint>(endpoint: E, options?: CallOptions): Promise<AnswerOf<E>>;
  post<E extends DashboardEndpoint>(endpoint: E, body: BodyOf<E>, options?: CallOptions): Promise<AnswerOf<E>>;
  /** The raw answer. */
  call(endpoint: DashboardEndpoint, options?: CallOptions & { readonly body?: unknown }): Promise<Reply>;
  /** Every row of the list with this filter, page by page. */
  rows(filter?: object): Promise<DecisionRow[]>;
  /** Waits until this many requests are recorded. */
  recorded(requests: number): Promise<void>;
}

export interface CallOptions {
  readonly at?: Readonly<Record<string, string>>;
  readonly query?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function startDashboard(database: string, options: StartOptions = {}): Promise<TestDashboard> {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  const gateway = await start({
    ...options,
    env: { DATABASE_URL: database === "sqlite" ? `sqlite:${join(folder, "gateway.db")}` : database, ...options.env },
  });

  const raw: TestDashboard["call"] = (endpoint, { at = {}, query = {}, headers = {}, body } = {}) => {
    const [method = "", path = ""] = endpoint.split(" ");
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(at[name] ?? ""));
    const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return call(`${gateway.url}/dashboard/api/${filled}?${new URLSearchParams(given)}`, {
      method,
      headers: { "x-smart-gateway-csrf": "1", "content-type": "application/json", ...headers },
      ...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
    });
  };
  const checked = async <E extends DashboardEndpoint>(endpoint: E, reply: Reply): Promise<AnswerOf<E>> => {
    const answer = await reply.json();
    if (reply.status !== 200) throw new Error(`${endpoint}: ${reply.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const get: TestDashboard["get"] = async (endpoint, given) => checked(endpoint, await raw(endpoint, given));
  return {
    gateway,
    url: gateway.url,
    get,
    post: async (endpoint, body, given) => checked(endpoint, await raw(endpoint, { ...given, body })),
    call: raw,
    async rows(filter = {}) {
      const rows: DecisionRow[] = [];
      let before: number | null = null;
      do {
        const query: object = { limit: 3, ...filter, ...(before === null ? {} : { before }) };
        const page: AnswerOf<"GET decisions"> = await get("GET decisions", { query });
        rows.push(...page.rows);
        before = page.next_before;
      } while (before !== null);
      return rows;
    },
    recorded: (requests) =>
      eventually(async () => {
        const { rows } = await get("GET decisions", { query: { limit: 200 } });
        return rows.reduce((sum, { repeated }) => sum + repeated, 0) >= requests;
      }),
    async [Symbol.asyncDispose]() {
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The databases of this machine, by name, with a function that makes a new one for each gateway. */
export function databases(): readonly { readonly name: string; readonly open: () => Promise<string> }[] {
  const missing = postgresMissing();
  const postgres = missing === undefined ? startPostgresOnce() : undefined;
  return [
    { name: "SQLite", open: async () => "sqlite" },
    ...(postgres === undefined ? [] : [{ name: "PostgreSQL", open: async () => (await postgres()).createDatabase() }]),
  ];
}

function startPostgresOnce() {
  let server: ReturnType<typeof startPostgres> | undefined;
  afterAll(async () => (await server)?.remove());
  return () => {
    server ??= startPostgres({ fsync: "off" });
    return server;
  };
}
