import { afterAll, afterEach, beforeAll, beforeEach } from "bun:test";
import { PostgresConnection, type PostgresRow } from "#db/postgres.ts";
import { audit } from "#ledger/admin/audit.ts";
import { type CuttingProxy, cuttingProxy } from "../harness/cutting-proxy.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";

/** The fixture of the PostgreSQL suites: a server for the suite, and for each test an empty database behind a proxy. */
export interface PostgresFixture {
  readonly server: TestPostgres;
  readonly url: string;
  /** The same database through the proxy. */
  readonly proxiedUrl: string;
  readonly proxy: CuttingProxy;
  /** A connection without the proxy. */
  readonly admin: PostgresConnection;
  /** Connects again after `admin` was closed. */
  renewAdmin(): void;
  query(sql: string): Promise<readonly PostgresRow[]>;
  /** The findings of an audit of the ledger. */
  findings(): Promise<readonly unknown[]>;
}

/** To be called inside `describe`; `closeNodes` runs after each test, before the database is removed. */
export function postgresFixture(closeNodes: () => Promise<void>): PostgresFixture {
  let server: TestPostgres;
  let url: string;
  let proxy: CuttingProxy;
  let admin: PostgresConnection;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    url = await server.createDatabase();
    admin = new PostgresConnection(url, 10_000);
    proxy = await cuttingProxy(server.port);
  });
  afterEach(async () => {
    await closeNodes();
    await admin.close();
    await proxy.close();
  });

  const query = async (sql: string) => (await admin.run(sql))[0] ?? [];
  return {
    get server() {
      return server;
    },
    get url() {
      return url;
    },
    get proxiedUrl() {
      return url.replace(`:${server.port}/`, `:${proxy.port}/`);
    },
    get proxy() {
      return proxy;
    },
    get admin() {
      return admin;
    },
    renewAdmin() {
      admin = new PostgresConnection(url, 10_000);
    },
    query,
    findings: async () => (await audit(query, Date.now())).findings,
  };
}
