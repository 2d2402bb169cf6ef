import { openLargeStore } from "#db/store-database.ts";
import type { Ledger, SharedConnection } from "#ledger/ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import { StoreFailure } from "#ledger/store.ts";
import { redactId } from "#pipeline/redact-request.ts";
import { LruMap } from "#platform/lru-map.ts";
import { buildRecord, type PreviousAnswer } from "#records/build-record.ts";
import type { ExplainedDecision } from "#records/decision-record.ts";
import { explain, explainedNow } from "#records/explain/explain.ts";
import type { RequestRecord } from "#records/record.ts";
import type { ReportedOutcome } from "#records/records.ts";
import { type Rejection, rejectionRecords } from "#records/rejections.ts";
import { configurationNames, readConfiguration } from "#records/replay/configuration.ts";
import { StoredRecords } from "#records/stored-records.ts";
import { loggedError, operatorText } from "#telemetry/log/log.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** The decision records of a gateway, and what feeds them. */
export type GatewayRecords = ReturnType<typeof openRecords>;

/** How often the records that stand for floods of rejections are written, and how often the ledger is asked for open costs. */
const flushRejectionsMs = 15_000;

/** Ids of decisions whose cost is not known yet, and sessions whose redacted form is remembered: an agent sends one with each call. */
const maxOpenCosts = 10_000;
const maxSessions = 1_000;
/** Conversations whose last answer is remembered, to tell what a switch of model has cost. */
const maxConversations = 10_000;

export function openRecords(ledger: Ledger & SharedConnection, context: GatewayContext) {
  const { configuration, time, closing } = context;
  const { clock, timers } = time;
  const stored = openStoredRecords(ledger, context);
  const enabled = () => configuration.policy().records.enabled;
  const nameConfiguration = configurationNames(
    (config) => stored.addConfig(config),
    () => clock.now(),
  );
  const rejections = rejectionRecords(
    clock,
    () => Bun.randomUUIDv7(),
    (record) => stored.add(record),
  );
  const openCosts = new LruMap<string, true>();
  const sessions = new LruMap<string, string>();
  const conversations = new LruMap<string, PreviousAnswer>();
  /** Session ids that are credentials are replaced; goal and task ids are replaced before the routing. */
  const redactedSession = (session: string | undefined) => {
    if (session === undefined) return undefined;
    const redacted = sessions.get(session) ?? redactId(session, configuration.current().privacy);
    sessions.set(session, redacted);
    sessions.trim(maxSessions);
    return redacted;
  };
  const recordOf = (record: RequestRecord) => {
    const { routed } = record;
    const policyHash =
      routed === undefined ? null : nameConfiguration(routed.snapshot.policy, routed.snapshot.registry, routed.learned);
    const before = conversations.get(routed?.conversationKey ?? "");
    return buildRecord(record, { policyHash, session: redactedSession(routed?.sessionId), before });
  };
  const rememberAnswer = ({ routed, answeredBy, attempts }: RequestRecord) => {
    const usage = attempts.findLast(({ outcome }) => outcome === "answered")?.usage;
    if (routed === undefined || answeredBy === null || usage === undefined || routed.housekeeping !== undefined) return;
    conversations.set(routed.conversationKey, { model: answeredBy, promptTokens: usage.input });
    conversations.trim(maxConversations);
  };
  let cancelFlush = () => {};
  const flushRejections = () => {
    rejections.flush();
    if (enabled()) stored.checkOpenCosts();
    cancelFlush = timers.after(flushRejectionsMs, flushRejections);
  };
  flushRejections();
  closing.addWithTimeout(async () => {
    cancelFlush();
    rejections.flush();
    await stored.close();
  });
  const holdClosed = (notice: LedgerNotice) => {
    if (notice.kind === "resolved" && enabled()) stored.addCorrection(notice);
  };
  context.onLedgerEvent.push((event) => {
    // An attempt of unknown outcome has no cost yet.
    if (event.kind !== "resolved" || event.state === "UNRESOLVED") return;
    const late = event.state === "EXPIRED_CHARGED" || event.state === "CORRECTED";
    if (late || openCosts.get(event.requestId) === true) holdClosed(event);
  });
  return {
    /** Where records are read. */
    records: stored,
    /** The `policy_hash` of decisions made now; null while no records are kept. */
    policyHash() {
      const { policy, registry, learned } = configuration.current();
      return enabled() ? nameConfiguration(policy, registry, learned) : null;
    },
    requestFinished(record: RequestRecord) {
      if (!enabled()) return;
      stored.add(recordOf(record), record.routed?.conversationKey);
      rememberAnswer(record);
      if (!record.attempts.some(({ costNanoUsd }) => costNanoUsd === undefined)) return;
      openCosts.set(record.decisionId, true);
      openCosts.trim(maxOpenCosts);
    },
    requestRejected(rejection: Rejection) {
      if (enabled()) rejections.add(rejection);
    },
    /** A hold has been closed: its record gets the cost at once. */
    holdClosed,
    /** Where the states of tasks are kept. */
    tasks: stored,
    /** What a caller reports of a decision; false for an unknown one. Rejects when the store does not answer. */
    reportOutcome: async (report: ReportedOutcome) => enabled() && stored.reportOutcome(report),
    health() {
      const { kind, ok, queued, dropped } = stored.status();
      return kind === "off" ? undefined : { ok, queued, dropped };
    },
    /** By decision id or request id. Rejects when the store does not answer. */
    async explained(id: string): Promise<ExplainedDecision | undefined> {
      const record = await stored.get(id);
      if (record === undefined) return undefined;
      const config = record.policy_hash === null ? undefined : await stored.config(record.policy_hash);
      return { ...record, explanation: explain(record, readConfiguration(config)) };
    },
    /** The explanation of a request whose record is not written yet. What is known only at its end is left out while it runs. */
    explainNow: (record: RequestRecord): object => explainedNow(recordOf(record), record.routed),
  };
}

function openStoredRecords(ledger: SharedConnection, context: GatewayContext): StoredRecords {
  const { settings, configuration, time, log, metrics } = context;
  return new StoredRecords({
    ...time,
    openDatabase: () => openLargeStore(settings.databaseUrl, ledger.sharedWrite),
    kind: settings.databaseUrl.startsWith("sqlite:") ? "sqlite" : "postgres",
    rules: () => configuration.policy().records,
    taskLimits: () => configuration.policy().tasks,
    onDrop: (count) => metrics.count("smart_gateway_records_dropped_total", count),
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
