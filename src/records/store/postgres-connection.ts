import { migratePostgres, PostgresConnection, textLiteral } from "#db/postgres.ts";
import type { SqlValue, SqlWrite } from "#db/sql-writes.ts";
import { searchBlocks } from "./blocks.ts";
import type { SqlConnection } from "./sql-connection.ts";

/** Milliseconds to wait for an answer. Records may be lost, so a message without an answer counts as lost. */
const writeLimitMs = 5_000;
/** Milliseconds to wait for a reading. Summaries of long ranges are slow, and nothing else uses this connection. */
const readLimitMs = 30_000;

/** The records in PostgreSQL, over two connections of their own. Rejects when it cannot be reached. */
export async function postgresRecords(url: string): Promise<SqlConnection> {
  await migratePostgres(url);
  const reader = new PostgresConnection(url, readLimitMs);
  const writer = new PostgresConnection(url, writeLimitMs);
  const read: SqlConnection["read"] = async (sql, values = []) => {
    const [rows = []] = await reader.run(withLiterals(sql, values));
    return rows;
  };
  return {
    kind: "postgres",
    read,
    async search(search) {
      const searching = searchBlocks(search, "postgres");
      let step = searching.next();
      while (step.done !== true) step = searching.next(await read(...step.value));
      return step.value;
    },
    async write(writes) {
      const statements = writes.flatMap(statementsOf);
      try {
        // The lock orders the nodes' transactions, so that two never wait for each other's rows.
        await writer.run(
          `BEGIN; SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '4s'; SET LOCAL synchronous_commit = off;
           SELECT 1 FROM decision_store WHERE id = 1 FOR UPDATE; ${statements.join("; ")}; COMMIT`,
        );
      } catch (error) {
        // An error in the middle of the message leaves the session in a failed transaction; a fresh one costs little.
        writer.drop();
        throw error;
      }
    },
    async close() {
      await reader.close();
      await writer.close();
    },
  };
}

function statementsOf({ sql, rows }: SqlWrite): string[] {
  if (!sql.includes("VALUES (?)")) return rows.map((row) => withLiterals(sql, row));
  if (rows.length === 0) return [];
  const values = rows.map((row) => `(${row.map(literal).join(",")})`).join(",");
  return [sql.replace("VALUES (?)", () => `VALUES ${values}`)];
}

function withLiterals(sql: string, values: readonly SqlValue[]): string {
  let next = 0;
  return sql.replace(/\?/g, () => literal(values[next++] ?? null));
}

function literal(value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return textLiteral(value);
  if (typeof value === "object") return `decode('${value.blob}', 'base64')`;
  if (!Number.isFinite(value)) throw new RangeError(`not a number: ${value}`);
  return String(value);
}
