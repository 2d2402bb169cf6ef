import { maxUsd } from "#domain/money/money.ts";

/** Proof that the ledger balances: every counter is recomputed from the rows it sums up. Reads only. */

/** Runs one statement with the values of its `?` and answers its rows; numbers may come as text (a PostgreSQL bigint does). */
export type Query = (
  sql: string,
  parameters?: readonly (string | number | null)[],
) => Promise<readonly Record<string, unknown>[]>;

export interface AuditReport {
  readonly accounts: number;
  readonly reservations: number;
  readonly open: number;
  readonly entries: number;
  /** What is wrong, one finding a line; empty when the ledger balances. */
  readonly findings: readonly AuditFinding[];
  /** Not wrong, but worth knowing. */
  readonly remarks: readonly AuditFinding[];
}

export interface AuditFinding {
  readonly check: (typeof auditChecks)[number]["check"] | "past_expiry" | "above_cap" | "saturated";
  /** The account or reservation. */
  readonly id: string;
  readonly detail: string;
}

const charged = `CASE r.state WHEN 'SETTLED' THEN r.actual WHEN 'CORRECTED' THEN r.actual
  WHEN 'EXPIRED_CHARGED' THEN r.hold ELSE 0 END`;
const isOpen = `r.state IN ('HELD', 'UNRESOLVED')`;

const byAccount = (columns: string, from: string) =>
  `SELECT account, ${columns} FROM (
     SELECT r.goal_account AS account, r.*, ${from} UNION ALL SELECT r.day_account AS account, r.*, ${from}
   ) AS both_accounts GROUP BY account`;

/** Each selects `id` and `detail` of what should not be. */
const auditChecks = [
  {
    check: "held_differs_from_reservations",
    sql: `SELECT a.id, 'held ' || a.held || ', open reservations hold ' || coalesce(s.total, 0) AS detail
      FROM account a LEFT JOIN (${byAccount("sum(amount) AS total", `CASE WHEN ${isOpen} THEN r.hold ELSE 0 END AS amount FROM reservation r`)}) s
        ON s.account = a.id
      WHERE a.held <> coalesce(s.total, 0)`,
  },
  {
    check: "spent_differs_from_reservations",
    sql: `SELECT a.id, 'spent ' || a.spent || ', closed reservations and carried sums say ' || (coalesce(s.total, 0) + a.carried_spent) AS detail
      FROM account a LEFT JOIN (${byAccount("sum(amount) AS total", `${charged} AS amount FROM reservation r`)}) s
        ON s.account = a.id
      WHERE a.spent < ${maxUsd} AND a.spent <> coalesce(s.total, 0) + a.carried_spent`,
  },
  {
    check: "counters_differ_from_entries",
    sql: `SELECT a.id, 'held ' || a.held || ' spent ' || a.spent || ' overrun ' || a.overrun || ', entries say ' || coalesce(s.held, 0)
        || ' ' || (coalesce(s.spent, 0) + a.carried_spent) || ' ' || (coalesce(s.overrun, 0) + a.carried_overrun) AS detail
      FROM account a LEFT JOIN (
        SELECT account, sum(held) AS held, sum(spent) AS spent, sum(overrun) AS overrun FROM (
          SELECT r.goal_account AS account, e.held, e.spent, e.overrun FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id
          UNION ALL
          SELECT r.day_account, e.held, e.spent, e.overrun FROM ledger_entry e JOIN reservation r ON r.id = e.reservation_id
        ) AS moved GROUP BY account
      ) s ON s.account = a.id
      WHERE a.held <> coalesce(s.held, 0)
        OR (a.spent < ${maxUsd} AND a.spent <> coalesce(s.spent, 0) + a.carried_spent)
        OR (a.overrun < ${maxUsd} AND a.overrun <> coalesce(s.overrun, 0) + a.carried_overrun)`,
  },
  {
    check: "reservation_differs_from_entries",
    sql: `SELECT r.id, r.state || ' hold ' || r.hold || ', entries say held ' || coalesce(s.held, 0) || ' spent ' || coalesce(s.spent, 0) AS detail
      FROM reservation r LEFT JOIN (
        SELECT reservation_id, sum(held) AS held, sum(spent) AS spent FROM ledger_entry GROUP BY reservation_id
      ) s ON s.reservation_id = r.id
      WHERE s.reservation_id IS NULL OR s.held <> CASE WHEN ${isOpen} THEN r.hold ELSE 0 END OR s.spent <> ${charged}`,
  },
  {
    check: "entry_without_reservation",
    sql: `SELECT e.reservation_id AS id, e.event AS detail
      FROM ledger_entry e LEFT JOIN reservation r ON r.id = e.reservation_id WHERE r.id IS NULL`,
  },
  {
    check: "entry_repeated",
    sql: `SELECT e.reservation_id AS id, e.event || ' is there ' || count(*) || ' times' AS detail
      FROM ledger_entry e GROUP BY e.reservation_id, e.event HAVING count(*) > 1`,
  },
  {
    check: "reservation_without_account",
    sql: `SELECT r.id, r.goal_account || ' ' || r.day_account AS detail FROM reservation r
      LEFT JOIN account g ON g.id = r.goal_account LEFT JOIN account d ON d.id = r.day_account
      WHERE g.id IS NULL OR d.id IS NULL`,
  },
] as const;

/** Selects the same of what is not wrong, but worth knowing. */
function auditRemarks(nowMs: number) {
  return [
    {
      // The sweeper closes what has expired within seconds of any node being up: a minute later nobody has.
      check: "past_expiry",
      sql: `SELECT r.id, r.state || ' of ' || r.node_id || ', hold ' || r.hold AS detail
        FROM reservation r WHERE r.closed_ms IS NULL AND r.expires_ms < ${Math.floor(nowMs) - 60_000}`,
    },
    {
      check: "above_cap",
      sql: `SELECT a.id, 'spent ' || a.spent || ' held ' || a.held || ' cap ' || coalesce(a.own_hard, a.hard) AS detail
        FROM account a WHERE a.spent + a.held > coalesce(a.own_hard, a.hard) + a.overrun`,
    },
    {
      // Nothing is admitted to such an account any more. It came from costs that nobody can have meant.
      check: "saturated",
      sql: `SELECT a.id, 'spent ' || a.spent || ' overrun ' || a.overrun || ': the most an account counts, its closed reservations cost at least that' AS detail
        FROM account a WHERE a.spent >= ${maxUsd} OR a.overrun >= ${maxUsd}`,
    },
  ] as const;
}

const shown = 100;

/** `nowMs`: the store's clock. Each check is one statement; on a busy store run it inside one read transaction. */
export async function audit(query: Query, nowMs: number): Promise<AuditReport> {
  const count = async (sql: string) => Number((await query(sql))[0]?.["count"] ?? 0);
  const found = async (checks: readonly { readonly check: AuditFinding["check"]; readonly sql: string }[]) => {
    const findings: AuditFinding[] = [];
    for (const { check, sql } of checks) {
      for (const { id, detail } of await query(`${sql} LIMIT ${shown}`)) {
        findings.push({ check, id: String(id), detail: String(detail) });
      }
    }
    return findings;
  };
  const [findings, remarks] = [await found(auditChecks), await found(auditRemarks(nowMs))];
  return {
    accounts: await count("SELECT count(*) AS count FROM account"),
    reservations: await count("SELECT count(*) AS count FROM reservation"),
    open: await count("SELECT count(*) AS count FROM reservation WHERE closed_ms IS NULL"),
    entries: await count("SELECT count(*) AS count FROM ledger_entry"),
    findings,
    remarks,
  };
}
