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
  readonly check: string;
  /** The account or reservation. */
  readonly id: string;
  readonly detail: string;
}

interface Check {
  readonly check: string;
  /** Selects `id` and `detail` of what should not be. */
  readonly sql: string;
}

const heldBy = "CASE WHEN r.state IN ('HELD', 'UNRESOLVED') THEN r.hold ELSE 0 END";
const charged = `CASE r.state WHEN 'SETTLED' THEN r.actual WHEN 'CORRECTED' THEN r.actual
  WHEN 'EXPIRED_CHARGED' THEN r.hold ELSE 0 END`;
const unproven = "CASE r.state WHEN 'EXPIRED_CHARGED' THEN r.hold ELSE 0 END";

/** Sums over the reservations `r`, or over their entries `e`, of each account that they belong to. */
function sumsByAccount(sums: Readonly<Record<string, string>>, from: string): string {
  const amounts = Object.entries(sums).map(([name, amount]) => `${amount} AS ${name}`);
  const parts = ["goal_account", "day_account", "key_account"].map(
    (column) => `SELECT r.${column} AS account, ${amounts.join(", ")} FROM ${from}`,
  );
  const totals = Object.keys(sums).map((name) => `sum(${name}) AS ${name}`);
  return `SELECT account, ${totals.join(", ")} FROM (${parts.join(" UNION ALL ")}) AS parts GROUP BY account`;
}

const auditChecks: readonly Check[] = [
  {
    check: "counters_differ_from_reservations",
    sql: `SELECT a.id, 'held ' || a.held || ' spent ' || a.spent || ' unproven ' || a.unproven || ', reservations and carried sums say '
        || coalesce(s.held, 0) || ' ' || (coalesce(s.spent, 0) + a.carried_spent) || ' ' || coalesce(s.unproven, 0) AS detail
      FROM account_total a LEFT JOIN (${sumsByAccount({ held: heldBy, spent: charged, unproven }, "reservation r")}) s ON s.account = a.id
      WHERE a.held <> coalesce(s.held, 0) OR a.spent <> coalesce(s.spent, 0) + a.carried_spent
        OR a.unproven < coalesce(s.unproven, 0)`,
  },
  {
    check: "counters_differ_from_entries",
    sql: `SELECT a.id, 'held ' || a.held || ' spent ' || a.spent || ' overrun ' || a.overrun || ', entries say ' || coalesce(s.held, 0)
        || ' ' || (coalesce(s.spent, 0) + a.carried_spent) || ' ' || (coalesce(s.overrun, 0) + a.carried_overrun) AS detail
      FROM account_total a LEFT JOIN (${sumsByAccount(
        { held: "e.held", spent: "e.spent", overrun: "e.overrun" },
        "ledger_entry e JOIN reservation r ON r.id = e.reservation_id",
      )}) s ON s.account = a.id
      WHERE a.held <> coalesce(s.held, 0) OR a.spent <> coalesce(s.spent, 0) + a.carried_spent
        OR a.overrun <> coalesce(s.overrun, 0) + a.carried_overrun`,
  },
  {
    check: "grants_differ_from_shares",
    sql: `SELECT id, 'granted ' || granted || ', shares say ' || given AS detail FROM account_total WHERE granted <> given`,
  },
  {
    check: "reservation_differs_from_entries",
    sql: `SELECT r.id, r.state || ' hold ' || r.hold || ', entries say held ' || coalesce(s.held, 0) || ' spent ' || coalesce(s.spent, 0) AS detail
      FROM reservation r LEFT JOIN (
        SELECT reservation_id, sum(held) AS held, sum(spent) AS spent FROM ledger_entry GROUP BY reservation_id
      ) s ON s.reservation_id = r.id
      WHERE s.reservation_id IS NULL OR s.held <> ${heldBy} OR s.spent <> ${charged}`,
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
    sql: `SELECT r.id, r.goal_account || ' ' || r.day_account || coalesce(' ' || r.key_account, '') AS detail FROM reservation r
      LEFT JOIN account g ON g.id = r.goal_account LEFT JOIN account d ON d.id = r.day_account
      LEFT JOIN account k ON k.id = r.key_account
      WHERE g.id IS NULL OR d.id IS NULL OR (k.id IS NULL AND r.key_account IS NOT NULL)`,
  },
];

/** What is not wrong, but worth knowing. */
function auditRemarks(nowMs: number): readonly Check[] {
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
        FROM account_total a WHERE a.spent + a.held > coalesce(a.own_hard, a.hard) + a.overrun`,
    },
  ];
}

const shown = 100;

/** `nowMs`: the store's clock. Each check is one statement; on a busy store run it inside one read transaction. */
export async function audit(query: Query, nowMs: number): Promise<AuditReport> {
  const count = async (from: string) =>
    Number((await query(`SELECT count(*) AS count FROM ${from}`))[0]?.["count"] ?? 0);
  const found = async (checks: readonly Check[]) => {
    const findings: AuditFinding[] = [];
    for (const { check, sql } of checks) {
      for (const { id, detail } of await query(`${sql} LIMIT ${shown}`)) {
        findings.push({ check, id: String(id), detail: String(detail) });
      }
    }
    return findings;
  };
  return {
    accounts: await count("account"),
    reservations: await count("reservation"),
    open: await count("reservation WHERE closed_ms IS NULL"),
    entries: await count("ledger_entry"),
    findings: await found(auditChecks),
    remarks: await found(auditRemarks(nowMs)),
  };
}
