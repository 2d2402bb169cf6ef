import type { ActualSource, ReservationId, Resolution } from "#ledger/ledger.ts";
import { firstLookupMs, isOpen, partsOfReservationId, type ReservationRow } from "./rows.ts";
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

/** A resolution, and a lookup of the call's cost where it leaves the cost open. */
export function resolve(rows: WorkingRows, resolution: Resolution): void {
  const { id, generationId } = resolution;
  const before = rows.reservation(id);
  close(rows, resolution);
  const after = rows.reservation(id);
  // Only where this resolution ended the call, and its cost can still become known.
  if (generationId !== undefined && before?.state === "HELD" && after !== undefined && mayBeCorrected(after)) {
    rows.lookups.push({ reservationId: id, generationId, hold: after.hold, nextMs: rows.time.nowMs + firstLookupMs });
  }
}

/** Releases a hold whose caller was answered `unavailable`. */
export function cancel(rows: WorkingRows, id: ReservationId): void {
  const row = rows.reservation(id);
  // Another node, or an earlier process of this one, may have been answered `held` under the same id.
  if (row?.nodeId !== rows.node.id || row.nodeEpoch !== rows.node.epoch) return;
  close(rows, { id, kind: "released", reason: "never_used" });
}

/** Charges an open reservation whose deadline has passed. */
export function expire(rows: WorkingRows, id: ReservationId): void {
  const row = rows.reservation(id);
  if (row === undefined || !isOpen(row.state) || row.expiresMs > rows.time.nowMs) return;
  close(rows, { id, kind: "charged", reason: "deadline_passed" });
}

/** Takes over a hold whose node is dead. */
export function orphan(rows: WorkingRows, id: ReservationId): void {
  const row = rows.reservation(id);
  if (row?.state === "HELD") rows.write({ ...row, state: "UNRESOLVED" }, "owner_died", row.nodeId);
}

function close(rows: WorkingRows, event: Resolution): void {
  const row = rows.reservation(event.id);
  if (row === undefined) {
    rows.ignore(event.id, "absent", `${event.kind} for a reservation that is not in the ledger`);
    return;
  }
  switch (row.state) {
    case "HELD":
    case "UNRESOLVED":
      if (event.kind !== "unknown") finish(rows, row, closedStates[event.kind], event);
      else if (row.state === "HELD") rows.write({ ...row, state: "UNRESOLVED" }, event.reason);
      return;
    case "EXPIRED_CHARGED":
      if (event.kind === "settled" || event.kind === "released") finish(rows, row, "CORRECTED", event);
      return;
    case "SETTLED":
    case "CORRECTED":
    case "RELEASED":
      if (repeats(row, event)) return;
      // An estimate gives way to the upstream's figure. Once: a corrected row stays as it is.
      if (
        row.state !== "CORRECTED" &&
        isEstimate(row.source) &&
        event.kind === "settled" &&
        !isEstimate(event.source)
      ) {
        finish(rows, row, "CORRECTED", event);
      } else {
        const what = event.kind === "settled" ? `settled at ${event.actual}` : event.kind;
        rows.ignore(row.id, row.state, `${what} after ${row.state}`);
      }
      return;
  }
}

const closedStates = { settled: "SETTLED", released: "RELEASED", charged: "EXPIRED_CHARGED" } as const;
type FinalState = (typeof closedStates)[keyof typeof closedStates] | "CORRECTED";

/** Closes a reservation, or corrects what it was charged. */
function finish(
  rows: WorkingRows,
  row: ReservationRow,
  state: FinalState,
  event: Exclude<Resolution, { kind: "unknown" }>,
): void {
  const ended = { ...row, state, closedMs: rows.time.nowMs };
  if (event.kind !== "settled") {
    const source = event.kind === "released" ? (event.source ?? null) : null;
    rows.write({ ...ended, actual: state === "CORRECTED" ? 0 : null, source }, event.reason);
    return;
  }
  const { source, reason = source, distrusted } = event;
  rows.write({ ...ended, actual: rows.chargeable(row, event.actual), source }, reason);
  if (distrusted !== undefined && state === "SETTLED") {
    const { id, model, hold } = row;
    const { requestId } = partsOfReservationId(id);
    rows.notices.push({ kind: "cost_distrusted", id, requestId, model, hold, stated: distrusted });
  }
}

/** Whether an event repeats what the ledger already says. */
function repeats(row: ReservationRow, event: Resolution): boolean {
  switch (event.kind) {
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
