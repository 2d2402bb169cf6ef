import { integerLiteral, migratePostgres, PostgresConnection, roundedLiteral, textLiteral } from "#db/postgres.ts";
import type { OperatorAction, OperatorActions } from "./operator-actions.ts";

const answerLimitMs = 5_000;

/** The audit log in PostgreSQL, over a connection of its own, for all nodes. Rejects when it cannot be reached. */
export async function openPostgresActions(url: string): Promise<OperatorActions> {
  await migratePostgres(url);
  const connection = new PostgresConnection(url, answerLimitMs);
  return {
    async add({ atMs, operator, action, target, detail }) {
      const texts = [operator, action, target, detail].map(textLiteral).join(", ");
      await connection.run(
        `INSERT INTO operator_action (at_ms, operator, action, target, detail)
         VALUES (${roundedLiteral(atMs)}, ${texts})`,
      );
    },
    async list(limit) {
      const [rows = []] = await connection.run(
        `SELECT at_ms, operator, action, target, detail FROM operator_action
         ORDER BY id DESC LIMIT ${integerLiteral(Math.floor(limit))}`,
      );
      return rows.map((row) => ({
        atMs: Number(row["at_ms"]),
        operator: String(row["operator"]),
        action: String(row["action"]) as OperatorAction["action"], // only `add` writes there
        target: String(row["target"]),
        detail: String(row["detail"]),
      }));
    },
    close: () => connection.close(),
  };
}
