import { openStoreDatabase } from "#db/store-database.ts";
import { systemClock } from "#platform/system-clock.ts";
import { OperatorProblem } from "./problem.ts";

/** Who acts: the name, and how they came in (`shell`: a command; `loopback`: the dashboard without a token). */
export interface Operator {
  readonly name: string;
  readonly by: "loopback" | "session" | "token" | "shell";
}

/** What an operator has changed by hand. Amounts are in nano-USD. */
export interface OperatorAction {
  readonly at_ms: number;
  readonly operator: string;
  readonly action: `${"cap" | "hold" | "model" | "key" | "session"}_${string}`;
  /** The account, the hold, the model or the label. */
  readonly target: string;
  /** In words: from what to what, and why. */
  readonly detail: string;
}

type NewAction = Pick<OperatorAction, "action" | "target"> & Partial<Pick<OperatorAction, "detail">>;

/** The audit log in the database, where it outlives log files. Rejects when the database cannot be reached. */
export async function openOperatorActions(databaseUrl: string, clock = systemClock) {
  const database = await openStoreDatabase(databaseUrl);
  const columns = "at_ms, operator, action, target, detail";
  return {
    /** Writes what was just done. Throws where it cannot be made durable. */
    async add({ name, by }: Operator, { action, target, detail = "" }: NewAction): Promise<void> {
      const values = [Math.round(clock.now()), `${name} (${by})`, action, target, detail];
      await database.write([`INSERT INTO operator_action (${columns}) VALUES (?, ?, ?, ?, ?)`, ...values]).catch(() => {
        const problem = "It is done, but could not be written into the audit log.";
        throw new OperatorProblem("unavailable", problem, "audit_unavailable");
      });
    },
    /** The newest first. */
    async list(limit: number): Promise<readonly OperatorAction[]> {
      const sql = `SELECT ${columns} FROM operator_action ORDER BY id DESC LIMIT ?`;
      const [rows = []] = await database.read([sql, limit]);
      return rows.map(({ at_ms, ...row }) => ({ ...row, at_ms: Number(at_ms) }) as OperatorAction); // what `add` wrote
    },
    /** The targets of one kind of action since a moment, in milliseconds since the epoch. */
    async targets(action: OperatorAction["action"], sinceMs: number): Promise<readonly string[]> {
      const sql = "SELECT target FROM operator_action WHERE action = ? AND at_ms >= ? ORDER BY id DESC LIMIT 10000";
      const [rows = []] = await database.read([sql, action, Math.round(sinceMs)]);
      return rows.map(({ target }) => String(target));
    },
    close: () => database.close(),
  };
}
