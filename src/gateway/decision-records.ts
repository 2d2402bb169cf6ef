import { openLargeStore } from "#db/store-database.ts";
import type { SharedConnection } from "#ledger/ledger.ts";
import type { LedgerEvent } from "#ledger/open-ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import { explainedRecord } from "#operator/records.ts";
import { redactId } from "#pipeline/redact-request.ts";
import { taskLimits } from "#pipeline/task/task-memory.ts";
import { LruMap } from "#platform/lru-map.ts";
import { buildRecord, type PreviousAnswer } from "#records/build-record.ts";
import type { ExplainedDecision } from "#records/decision-record.ts";
import { explainedNow } from "#records/explain/explain.ts";
import type { RequestRecord } from "#records/record.ts";
import type { ReportedOutcome } from "#records/records.ts";
import { type Rejection, rejectionRecords } from "#records/rejections.ts";
import { configurationNames } from "#records/replay/replay.ts";
import { StoredRecords } from "#records/stored-records.ts";
import { loggedError, logId, operatorText } from "#telemetry/log/log.ts";
import { storeProblem } from "./events.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** The decision records of a gateway, and what feeds them. */
export type GatewayRecords = ReturnType<typeof openRecords>;

/** How often the records of floods of rejections are written, and the ledger is asked for open costs. */
const flushRejectionsMs = 15_000;

/** Sessions whose redacted form is remembered: an agent sends one with each call. */
const maxSessions = 1_000;
/** Conversations whose last answer is remembered, to tell what a switch of model has cost. */
const maxConversations = 10_000;

export function openRecords(ledger: SharedConnection, context: GatewayContext) {
  const { settings, configuration, time, log, metrics, closing } = context;
  const { clock, timers } = time;
  const stored = new StoredRecords({
    ...time,
    openDatabase: () => openLargeStore(settings.databaseUrl, ledger.sharedWrite),
    kind: settings.databaseUrl.startsWith("sqlite:") ? "sqlite" : "postgres",
    rules: () => configuration.policy().records,
    taskLimits: () => taskLimits,
    onDrop(count, defect) {
      metrics.count("smart_gateway_records_dropped_total", count);
      if (defect !== undefined) log("task_failed", { task: logId("decision_record"), ...loggedError(defect) });
    },
    onStore: (state, problem) =>
      log("records_store_changed", {
        unavailable: state === "unavailable",
        detail: operatorText(problem === undefined ? "" : storeProblem(problem)),
      }),
  });
  const enabled = () => configuration.policy().records.enabled;
  const nameConfiguration = configurationNames((hash, config) =>
    stored.writeLater(`config ${hash}`, () => stored.saveConfig(hash, config, clock.now())),
  );
  const rejections = rejectionRecords(
    clock,
    () => Bun.randomUUIDv7(),
    (record) => stored.add(() => record),
  );
  const sessions = new LruMap<string, string>(maxSessions);
  const conversations = new LruMap<string, PreviousAnswer>(maxConversations);
  /** Session ids that are credentials are replaced; goal and task ids are replaced before the routing. */
  const redactedSession = (session: string | undefined) => {
    if (session === undefined) return undefined;
    const redacted = sessions.get(session) ?? redactId(session, configuration.current().privacy);
    sessions.set(session, redacted);
    return redacted;
  };
  const previousAnswer = ({ routed }: RequestRecord) => conversations.get(routed?.conversationKey ?? "");
  const build = (record: RequestRecord, before: PreviousAnswer | undefined, salt?: number) => {
    const { routed } = record;
    const policyHash =
      routed === undefined ? null : nameConfiguration(routed.snapshot.policy, routed.snapshot.registry);
    return buildRecord(record, { policyHash, session: redactedSession(routed?.sessionId), salt, before });
  };
  const rememberAnswer = ({ routed, answeredBy, attempts }: RequestRecord) => {
    const usage = attempts.findLast(({ outcome }) => outcome === "answered")?.usage;
    if (routed === undefined || answeredBy === null || usage === undefined || routed.housekeeping !== undefined) return;
    conversations.set(routed.conversationKey, { model: answeredBy, promptTokens: usage.input });
  };
  let cancelFlush = () => {};
  const flushRejections = () => {
    rejections.flush();
    // Others may have closed attempts whose cost is open in a record.
    if (enabled()) stored.writeLater("open costs", () => stored.correctOpenCosts());
    cancelFlush = timers.after(flushRejectionsMs, flushRejections);
  };
  flushRejections();
  closing.addWithTimeout(async () => {
    cancelFlush();
    rejections.flush();
    await stored.close();
  });
  /** A hold was closed long after its request: its record gets the cost at once. */
  const holdClosed = (notice: LedgerNotice) => {
    if (notice.kind === "resolved" && enabled()) stored.addCorrection(notice);
  };
  return {
    /** Where records are read, and the states of tasks are kept. */
    records: stored,
    /** The `policy_hash` of decisions made now; null while no records are kept. */
    policyHash() {
      const { policy, registry } = configuration.current();
      return enabled() ? nameConfiguration(policy, registry) : null;
    },
    requestFinished(record: RequestRecord) {
      if (!enabled()) return;
      const before = previousAnswer(record);
      stored.add((salt) => build(record, before, salt));
      rememberAnswer(record);
    },
    requestRejected(rejection: Rejection) {
      if (enabled()) rejections.add(rejection);
    },
    holdClosed,
    ledgerChanged(event: LedgerEvent) {
      // Of other attempts the cost is in the record, or found with the next of the open costs.
      if (event.kind === "resolved" && (event.state === "EXPIRED_CHARGED" || event.state === "CORRECTED")) {
        holdClosed(event);
      }
    },
    /** What a caller reports of a decision, as `RecordsPort` says. */
    reportOutcome: (report: ReportedOutcome, caller: number) =>
      enabled() ? stored.queueOutcome(report, caller) : Promise.resolve(false),
    health() {
      const { kind, ok, queued, dropped } = stored.status();
      return kind === "off" ? undefined : { ok, queued, dropped };
    },
    /** By decision id or request id. Rejects when the store does not answer. */
    explained: (id: string): Promise<ExplainedDecision | undefined> => explainedRecord(stored, id),
    /** The explanation of a request whose record is not written yet, without what only its end shows. */
    explainNow: (record: RequestRecord): object => explainedNow(build(record, previousAnswer(record)), record.routed),
  };
}
