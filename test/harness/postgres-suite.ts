import { afterAll, beforeAll, describe, test } from "bun:test";
import { PostgresConnection, type PostgresRow } from "#db/postgres.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "./postgres.ts";

/** What a suite's tests may use; nothing of it is there before they run. */
export interface PostgresSuite {
  readonly server: TestPostgres;
  /** A database of the suite's own. */
  readonly url: string;
  /** Runs statements over a connection of their own; the rows of the first. In the suite's database by default. */
  run(sql: string, url?: string): Promise<readonly PostgresRow[]>;
}

/** Tests on a PostgreSQL server of their own, which does not wait for the disk. Where there is none, they are skipped and say why. */
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
