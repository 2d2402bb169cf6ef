import { openStoreDatabase } from "#db/store-database.ts";

/** What an operator has changed by way of the dashboard. Amounts are in nano-USD. */
export interface OperatorAction {
  readonly atMs: number;
  readonly operator: string;
  readonly action: "cap_set" | "hold_settled" | "hold_released" | "model_disabled" | "model_enabled" | "model_reset";
  /** The account, the hold or the model. */
  readonly target: string;
  /** In words: from what to what, and why. */
  readonly detail: string;
}

/** The audit log of operators. Kept in the database, so that it outlives log files. */
export interface OperatorActions {
  /** Resolves when it is durable; rejects when it cannot be. */
  add(action: OperatorAction): Promise<void>;
  /** The newest first. */
  list(limit: number): Promise<readonly OperatorAction[]>;
  close(): Promise<void>;
}

/** The audit log that a database URL names. Brings the schema up to date; rejects when the database cannot be reached. */
export async function openOperatorActions(databaseUrl: string): Promise<OperatorActions> {
  const database = await openStoreDatabase(databaseUrl);
  const columns = "at_ms, operator, action, target, detail";
  return {
    async add({ atMs, operator, action, target, detail }) {
      const values = [Math.round(atMs), operator, action, target, detail];
      await database.write([`INSERT INTO operator_action (${columns}) VALUES (?, ?, ?, ?, ?)`, ...values]);
    },
    async list(limit) {
      const sql = `SELECT ${columns} FROM operator_action ORDER BY id DESC LIMIT ?`;
      const [rows = []] = await database.read([sql, limit]);
      return rows.map((row) => ({
        atMs: Number(row["at_ms"]),
        operator: String(row["operator"]),
        action: String(row["action"]) as OperatorAction["action"], // only `add` writes there
        target: String(row["target"]),
        detail: String(row["detail"]),
      }));
    },
    close: () => database.close(),
  };
}
