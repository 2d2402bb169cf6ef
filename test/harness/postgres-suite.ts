import { afterAll, beforeAll, describe, test } from "bun:test";
import { PostgresConnection, type PostgresRow } from "#db/postgres.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "./postgres.ts";

/** What a suite's tests may use, available only while they run. */
export interface PostgresSuite {
  readonly server: TestPostgres;
  /** The suite's database. */
  readonly url: string;
  /** Runs statements over a separate connection; returns the rows of the first. In the suite's database by default. */
  run(sql: string, url?: string): Promise<readonly PostgresRow[]>;
}

/** Tests on a PostgreSQL server that does not wait for the disk. If none can be started, they are skipped with the reason. */
export function describeOnPostgres(subject: string, tests: (suite: PostgresSuite) => void): void {
  const missing = postgresMissing();
  if (missing !== undefined) {
    test.skip(`${subject} in PostgreSQL: not tested here, because ${missing}`, () => {});
    return;
  }
  describe("on a PostgreSQL server", () => {
    let server: TestPostgres;
    let database: string;
    beforeAll(async () => {
      server = await startPostgres({ fsync: "off" });
      database = await server.createDatabase();
    }, 60_000);
    afterAll(() => server.remove());
    tests({
      get server() {
        return server;
      },
      get url() {
        return database;
      },
      async run(sql, url = database) {
        const connection = new PostgresConnection(url, 5_000);
        const [rows = []] = await connection.run(sql);
        await connection.close();
        return rows;
      },
    });
  });
}
