import type { Ledger, SharedConnection } from "#ledger/ledger.ts";
import type { LedgerEvent } from "#ledger/open-ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import { StoreFailure } from "#ledger/store.ts";
import type { Configuration } from "#pipeline/ports.ts";
import { redactId } from "#pipeline/redact-id.ts";
import { buildRecord } from "#records/build-record.ts";
import { ConfigNames } from "#records/config-names.ts";
import type { ExplainedDecision } from "#records/decision-record.ts";
import { explain, explainedNow } from "#records/explain/explain.ts";
import type { RequestRecord, RoutedInputs } from "#records/record.ts";
import type { DecisionRecords } from "#records/records.ts";
import { type Rejection, RejectionRecords } from "#records/rejections.ts";
import { readConfiguration } from "#records/replay/replay.ts";
import { correctionOf, openRecordStore, type ReportedOutcome } from "#records/store/record-store.ts";
import { StoredRecords } from "#records/stored-records.ts";
import type { TaskStates } from "#records/task-memory.ts";
import { loggedError, operatorText } from "#telemetry/log/log.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** The decision records of a gateway, and what feeds them. */
export interface GatewayRecords {
  /** Where records are read. */
  readonly records: DecisionRecords;
  /** The `policy_hash` of decisions made now; null while no records are kept. */
  policyHash(): string | null;
  requestFinished(record: RequestRecord): void;
  requestRejected(rejection: Rejection): void;
  ledgerEvent(event: LedgerEvent): void;
  /** A hold has been closed: its record gets the cost at once. */
  holdClosed(notice: LedgerNotice): void;
  /** Where the states of tasks are kept. */
  readonly tasks: TaskStates;
  /** What a caller reports of a decision; false for an unknown one. Rejects when the store does not answer. */
  reportOutcome(report: ReportedOutcome): Promise<boolean>;
  /** By decision id or request id. Rejects when the store does not answer. */
  explained(id: string): Promise<ExplainedDecision | undefined>;
  /** The explanation of a request whose record is not written yet. What is known only at its end is left out while it runs. */
  explainNow(record: RequestRecord): object;
}

/** How often the records that stand for floods of rejections are written, and how often the ledger is asked for open costs. */
const flushRejectionsMs = 15_000;

export function openRecords(ledger: Ledger & SharedConnection, context: GatewayContext): GatewayRecords {
  const { configuration, clock, timers, closing } = context;
  const stored = openStoredRecords(ledger, context);
  const enabled = () => configuration.current().policy.records.enabled;
  const names = new ConfigNames(
    (config) => stored.addConfig(config),
    () => clock.now(),
  );
  const rejections = new RejectionRecords(
    clock,
    () => Bun.randomUUIDv7(),
    (record) => stored.append(record),
  );
  const nameOf = ({ snapshot, learned }: RoutedInputs) => names.nameOf(snapshot.policy, snapshot.registry, learned);
  const sessions = new RedactedSessions(() => configuration.current().privacy);
  const openCosts = new OpenCosts();
  let cancelFlush = timers.after(flushRejectionsMs, flushRejections);
  if (enabled()) stored.correctOpenCosts();
  function flushRejections(): void {
    rejections.flush();
    if (enabled()) stored.correctOpenCosts();
    cancelFlush = timers.after(flushRejectionsMs, flushRejections);
  }
  closing.addWithTimeout(async () => {
    cancelFlush();
    rejections.flush(Number.POSITIVE_INFINITY);
    await stored.close();
  });
  const gateway: GatewayRecords = {
    records: stored,
    policyHash() {
      const { policy, registry, learned } = configuration.current();
      return enabled() ? names.nameOf(policy, registry, learned) : null;
    },
    requestFinished(record) {
      if (!enabled()) return;
      const { routed } = record;
      const policyHash = routed === undefined ? null : nameOf(routed);
      const session = sessions.redacted(routed?.sessionId);
      stored.append(buildRecord(record, { policyHash, session }), routed?.conversationKey);
      if (record.attempts.some(({ costNanoUsd }) => costNanoUsd === undefined)) openCosts.add(record.decisionId);
    },
    requestRejected(rejection) {
      if (enabled()) rejections.add(rejection);
    },
    ledgerEvent(event) {
      // An attempt of unknown outcome has no cost yet.
      if (event.kind !== "resolved" || event.state === "UNRESOLVED" || !enabled()) return;
      const late = event.state === "EXPIRED_CHARGED" || event.state === "CORRECTED";
      if (!late && !openCosts.has(event.requestId)) return;
      gateway.holdClosed(event);
    },
    holdClosed(notice) {
      if (notice.kind === "resolved" && enabled()) stored.correct(correctionOf(notice));
    },
    tasks: stored,
    reportOutcome: async (report) => enabled() && stored.reportOutcome(report),
    async explained(id) {
      const record = await gateway.records.get(id);
      if (record === undefined) return undefined;
      const config = record.policy_hash === null ? undefined : await stored.configuration(record.policy_hash);
      return { ...record, explanation: explain(record, config === undefined ? undefined : readConfiguration(config)) };
    },
    explainNow(record) {
      const { routed } = record;
      const policyHash = routed === undefined ? null : nameOf(routed);
      const session = sessions.redacted(routed?.sessionId);
      return explainedNow(buildRecord(record, { policyHash, session }), routed);
    },
  };
  context.onLedgerEvent.push((event) => gateway.ledgerEvent(event));
  return gateway;
}

function openStoredRecords(ledger: SharedConnection, context: GatewayContext): StoredRecords {
  const { settings, configuration, clock, timers, random, log, metrics } = context;
  const isSqlite = settings.databaseUrl.startsWith("sqlite:");
  return new StoredRecords({
    openStore: () => openRecordStore(settings.databaseUrl, ledger.sharedWrite),
    kind: isSqlite ? "sqlite" : "postgres",
    rules: () => configuration.current().policy.records,
    taskLimits: () => configuration.current().policy.tasks,
    shared: settings.workers > 1 || !isSqlite,
    clock,
    timers,
    random,
    onDrop: (count) => metrics.recordsDropped(count),
    onStore: (state, problem) =>
      log("records_store_changed", {
        away: state === "unavailable",
        detail: operatorText(problem === undefined ? "" : causeOf(problem)),
      }),
  });
}

/** SQLSTATE of PostgreSQL: connection, read-only, out of resources, locks, ended by an operator, system error. */
const isOfServer = /^(?:08|25|53|55|57|58)[0-9A-Z]{3}$/;

/** Why the database has not taken records. Other messages of PostgreSQL could repeat values of a row. */
function causeOf(problem: unknown): string {
  if (problem instanceof StoreFailure) return problem.message;
  const { code, error } = loggedError(problem);
  if (problem instanceof Error && isOfServer.test(code ?? "")) return `${code}: ${problem.message}`;
  return code ?? error;
}

const maxOpenCosts = 10_000;

/** Ids of decisions whose cost is not known yet; the oldest are dropped first. */
class OpenCosts {
  readonly #ids = new Set<string>();

  add(id: string): void {
    this.#ids.add(id);
    for (const oldest of this.#ids) {
      if (this.#ids.size <= maxOpenCosts) break;
      this.#ids.delete(oldest);
    }
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}

/** Session ids whose redacted form is remembered; an agent sends the same id with each of its calls. */
const maxSessions = 1_000;

/** Replaces session ids that are credentials by digests. Goal and task ids are replaced before the routing. */
class RedactedSessions {
  readonly #privacy: () => Configuration["privacy"];
  readonly #known = new Map<string, string>();

  constructor(privacy: () => Configuration["privacy"]) {
    this.#privacy = privacy;
  }

  redacted(session: string | undefined): string | undefined {
    if (session === undefined) return undefined;
    const known = this.#known.get(session);
    if (known !== undefined) return known;
    const redacted = redactId(session, this.#privacy());
    if (this.#known.size >= maxSessions) this.#known.clear();
    this.#known.set(session, redacted);
    return redacted;
  }
}
