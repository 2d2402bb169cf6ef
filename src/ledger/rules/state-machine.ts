import type { NanoUsd } from "#domain/money/money.ts";
import type { ActualSource, ReservationId, Resolution } from "#ledger/ledger.ts";
import type { OperationReply } from "./operations.ts";
import { chargedOf, firstLookupMs, isOpen, partsOfReservationId, type ReservationRow } from "./rows.ts";
import type { WorkingRows } from "./working-rows.ts";

/**
 * The states of a reservation after its admission:
 *
 *     HELD, UNRESOLVED → SETTLED | RELEASED | EXPIRED_CHARGED     closed, once
 *     HELD             → UNRESOLVED                               sent, outcome unknown
 *     EXPIRED_CHARGED  → CORRECTED                                the cost became known after the charge, once
 *     SETTLED, RELEASED by an estimate → CORRECTED                the upstream's own figure, once
 *
 * Every other event changes nothing: a repeat silently, a contradiction with an `ignored` notice.
 */

export const done: OperationReply = { kind: "done" };

/** A resolution, and a lookup of the call's cost where it leaves the cost open. */
export function resolve(rows: WorkingRows, resolution: Resolution): OperationReply {
  const { id, generationId } = resolution;
  if (generationId === undefined) return close(rows, id, eventOf(resolution));
  const before = rows.reservation(id);
  const reply = close(rows, id, eventOf(resolution));
  const after = rows.reservation(id);
  // Only where this resolution ended the call, and its cost can still become known.
  if (before?.state === "HELD" && after !== undefined && mayBeCorrected(after)) {
    rows.lookups.push({ reservationId: id, generationId, hold: after.hold, nextMs: rows.time.nowMs + firstLookupMs });
  }
  return reply;
}

/** Releases a hold whose caller was answered `unavailable`. */
export function cancel(rows: WorkingRows, id: ReservationId): OperationReply {
  const row = rows.reservation(id);
  // Another node, or an earlier process of this one, may have been answered `held` under the same id.
  if (row === undefined || row.nodeId !== rows.node.id || row.nodeEpoch !== rows.node.epoch) return done;
  return close(rows, id, { to: "released", reason: "never_used", source: null });
}

/** Charges an open reservation whose deadline has passed. */
export function expire(rows: WorkingRows, id: ReservationId): OperationReply {
  const row = rows.reservation(id);
  if (row === undefined || !isOpen(row.state) || row.expiresMs > rows.time.nowMs) return done;
  return close(rows, id, { to: "charged", reason: "deadline_passed" });
}

/** Takes over a hold whose node is dead. */
export function orphan(rows: WorkingRows, id: ReservationId): OperationReply {
  const row = rows.reservation(id);
  if (row === undefined || row.state !== "HELD") return done;
  const index = rows.notices.length;
  const reply = close(rows, id, { to: "unknown", reason: "owner_died" });
  const notice = rows.notices[index];
  if (notice?.kind === "resolved") rows.notices[index] = { ...notice, orphanOf: row.nodeId };
  return reply;
}

type CloseEvent =
  | {
      readonly to: "settled";
      readonly actual: NanoUsd;
      readonly source: ActualSource;
      readonly reason: string;
      readonly distrusted: NanoUsd | undefined;
    }
  | { readonly to: "released"; readonly reason: string; readonly source: "operator" | null }
  | { readonly to: "charged" | "unknown"; readonly reason: string };

function eventOf(resolution: Resolution): CloseEvent {
  switch (resolution.kind) {
    case "settled": {
      const { actual, source, reason = source, distrusted } = resolution;
      return { to: "settled", actual, source, reason, distrusted };
    }
    case "released":
      return { to: "released", reason: resolution.reason, source: resolution.source ?? null };
    case "charged":
    case "unknown":
      return { to: resolution.kind, reason: resolution.reason };
  }
}

function close(rows: WorkingRows, id: ReservationId, event: CloseEvent): OperationReply {
  const row = rows.reservation(id);
  if (row === undefined) {
    rows.ignore(id, "absent", `${event.to} for a reservation that is not in the ledger`);
    return done;
  }
  switch (row.state) {
    case "HELD":
    case "UNRESOLVED":
      closeOpen(rows, row, event);
      return done;
    case "EXPIRED_CHARGED":
      if (event.to === "settled") correct(rows, row, event.actual, event.source, event.reason);
      else if (event.to === "released") correct(rows, row, 0, event.source, event.reason);
      return done;
    case "SETTLED":
    case "CORRECTED":
    case "RELEASED":
      if (repeats(row, event)) return done;
      // An estimate gives way to the upstream's figure. Once: a corrected row stays as it is.
      if (row.state !== "CORRECTED" && isEstimate(row.source) && event.to === "settled" && !isEstimate(event.source)) {
        correct(rows, row, event.actual, event.source, event.reason);
      } else {
        rows.ignore(id, row.state, `${describe(event)} after ${row.state}`);
      }
      return done;
  }
}

function closeOpen(rows: WorkingRows, row: ReservationRow, event: CloseEvent): void {
  const closedMs = rows.time.nowMs;
  switch (event.to) {
    case "settled": {
      const { source } = event;
      const actual = rows.chargeable(row, event.actual);
      const overrun = Math.max(0, actual - row.hold);
      const after = { ...row, state: "SETTLED", actual, source, closedMs } as const;
      rows.write(after, "settled", -row.hold, actual, overrun, event.reason);
      if (overrun > 0) noticeOverrun(rows, row, actual);
      if (event.distrusted !== undefined) {
        const { id, model, hold } = row;
        const { requestId } = partsOfReservationId(id);
        rows.notices.push({ kind: "cost_distrusted", id, requestId, model, hold, stated: event.distrusted });
      }
      return;
    }
    case "released": {
      const after = { ...row, state: "RELEASED", source: event.source, closedMs } as const;
      rows.write(after, "released", -row.hold, 0, 0, event.reason);
      return;
    }
    case "charged": {
      const after = { ...row, state: "EXPIRED_CHARGED", closedMs } as const;
      rows.write(after, "expired_charged", -row.hold, row.hold, 0, event.reason);
      return;
    }
    case "unknown": {
      if (row.state === "UNRESOLVED") return;
      rows.write({ ...row, state: "UNRESOLVED" }, "unresolved", 0, 0, 0, event.reason);
      return;
    }
  }
}

/** The hold, or an estimate, was charged; now the real cost is known. Once. */
function correct(
  rows: WorkingRows,
  row: ReservationRow,
  stated: number,
  source: ActualSource | null,
  reason: string,
): void {
  const actual = rows.chargeable(row, stated);
  const before = chargedOf(row);
  const overrun = Math.max(0, actual - row.hold) - Math.max(0, before - row.hold);
  const after = { ...row, state: "CORRECTED", actual, source, closedMs: rows.time.nowMs } as const;
  rows.write(after, "corrected", 0, actual - before, overrun, reason);
  if (overrun > 0) noticeOverrun(rows, row, actual);
}

function noticeOverrun(rows: WorkingRows, row: ReservationRow, actual: number): void {
  rows.notices.push({ kind: "overrun", id: row.id, model: row.model, hold: row.hold, actual });
}

/** Whether an event repeats what the ledger already says. */
function repeats(row: ReservationRow, event: CloseEvent): boolean {
  switch (event.to) {
    case "settled":
      return row.actual === event.actual && row.state !== "RELEASED";
    case "released":
      return row.state === "RELEASED" || (row.state === "CORRECTED" && row.actual === 0);
    // Weaker than what is known by now: late, not wrong.
    case "charged":
    case "unknown":
      return row.state !== "RELEASED";
  }
}

/** Whether a source gives an estimate, which the upstream's own figure corrects. */
function isEstimate(source: ActualSource | null): boolean {
  return source === "at_least" || source === "operator";
}

/** Whether the upstream's own figure would still change what this reservation is charged. */
function mayBeCorrected({ state, source }: ReservationRow): boolean {
  return state === "UNRESOLVED" || state === "EXPIRED_CHARGED" || (state === "SETTLED" && isEstimate(source));
}

function describe(event: CloseEvent): string {
  return event.to === "settled" ? `settled at ${event.actual}` : event.to;
}
