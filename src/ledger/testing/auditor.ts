import type { Reservation, ReservationId } from "#ledger/ledger.ts";
import type { Operation, OperationReply } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { expiryGraceMs } from "#ledger/rules/rows.ts";
import type { UtcDay } from "#platform/time.ts";

export interface AuditMoment {
  readonly nowMs: number;
  readonly day: UtcDay;
  readonly node: NodeIdentity;
}

/**
 * A second implementation of the ledger, as plain as possible: a list of reservations, and sums made anew for each
 * question. Shares no code with the rules that it checks.
 */
export class Auditor {
  readonly #dayCaps = new Map<UtcDay, number>();
  readonly #rows = new Map<
    ReservationId,
    {
      goal: string;
      day: UtcDay;
      /** Its key with its day; absent for a key without a cap. */
      key: string | undefined;
      hold: number;
      charged: number;
      phase: "sure" | "unsure" | "charged" | "closed";
      /** It was closed by an estimate, which the upstream's own figure corrects. */
      estimate?: "settled" | "released" | undefined;
      nodeLifetime: string;
      expiresMs: number;
    }
  >();

  /** An operator's own cap for a day; null removes it. */
  setDayCap(day: UtcDay, cap: number | null): void {
    if (cap === null) this.#dayCaps.delete(day);
    else this.#dayCaps.set(day, cap);
  }

  /** A copy of this auditor with the same rows, to ask what the answer would be after further operations. */
  copy(): Auditor {
    const copy = new Auditor();
    for (const [day, cap] of this.#dayCaps) copy.#dayCaps.set(day, cap);
    for (const [id, row] of this.#rows) copy.#rows.set(id, { ...row });
    return copy;
  }

  /** Whether the other one has the same rows. */
  equals(other: Auditor): boolean {
    return Bun.deepEquals(this.#rows, other.#rows);
  }

  predict(operation: Operation, at: AuditMoment): string {
    switch (operation.kind) {
      case "reserve":
        return operation.admitted === undefined
          ? this.#predictReserve(operation.reservation, at)
          : this.#restore(operation.reservation, { ...at, ...operation.admitted });
      case "read":
        return `spend ${this.#sums(goalOf(operation.goal, at.day), at.day, keyOf(operation.key, at.day))}`;
      case "expire": {
        const row = this.#rows.get(operation.id);
        if (row !== undefined && row.expiresMs <= at.nowMs && (row.phase === "sure" || row.phase === "unsure")) {
          row.phase = "charged";
          row.charged = row.hold;
        }
        return "done";
      }
      case "orphan": {
        const row = this.#rows.get(operation.id);
        if (row?.phase === "sure") row.phase = "unsure";
        return "done";
      }
      case "cancel":
        if (this.#rows.get(operation.id)?.nodeLifetime === nodeLifetimeOf(at.node)) this.#close(operation.id, 0);
        return "done";
      default: {
        const row = this.#rows.get(operation.id);
        if (operation.kind === "settled") {
          const { actual, source } = operation;
          const isEstimate = source === "operator" || source === "at_least";
          if (row?.phase === "closed" && row.estimate !== undefined && !isEstimate) {
            // The same figure again changes nothing.
            if (row.estimate === "settled" && row.charged === actual) return "done";
            row.charged = actual;
            row.estimate = undefined;
          } else this.#close(operation.id, actual, isEstimate ? "settled" : undefined);
        } else if (operation.kind === "released") {
          this.#close(operation.id, 0, operation.source === undefined ? undefined : "released");
        } else if (row !== undefined && (row.phase === "sure" || row.phase === "unsure")) {
          row.phase = operation.kind === "charged" ? "charged" : "unsure";
          if (operation.kind === "charged") row.charged = row.hold;
        }
        return "done";
      }
    }
  }

  #close(id: ReservationId, charged: number, estimate?: "settled" | "released"): void {
    const row = this.#rows.get(id);
    if (row === undefined || row.phase === "closed") return;
    // A charge is corrected once, by whichever source.
    row.estimate = row.phase === "charged" ? undefined : estimate;
    row.phase = "closed";
    row.charged = charged;
  }

  #predictReserve(reservation: Reservation, { nowMs, day, node }: AuditMoment): string {
    const { id, goal, key, amount, perGoalHard, perDayHard } = reservation;
    const dayCap = this.#dayCaps.get(day) ?? perDayHard;
    const old = this.#rows.get(id);
    if (old !== undefined) {
      if (old.nodeLifetime !== nodeLifetimeOf(node)) return "unavailable";
      if (old.phase === "sure") return "held";
      this.#close(id, 0);
      return "unavailable";
    }
    const own = goalOf(goal, day);
    const ownKey = keyOf(key?.label, day);
    const accounts = [
      { name: "goal", cap: perGoalHard, sum: this.#sum((row) => row.goal === own) },
      { name: "day", cap: dayCap, sum: this.#sum((row) => row.day === day) },
      ...(ownKey === undefined
        ? []
        : [{ name: "key", cap: key?.dayHard ?? 0, sum: this.#sum((row) => row.key === ownKey) }]),
    ].map(({ name, cap, sum: [spent, held] }) => ({ name, left: cap - spent - held, leftLater: cap - spent }));
    if (accounts.some(({ left }) => amount > left)) {
      const waiting = accounts.every(({ leftLater }) => amount <= leftLater);
      const [binding] = accounts.toSorted((one, other) => one.left - other.left);
      return `refused ${binding?.name}${waiting ? " wait" : ""} ${this.#sums(own, day, ownKey)}`;
    }
    return this.#restore(reservation, { nowMs, day, node });
  }

  /** Holds what is not known yet, whatever the caps say. */
  #restore({ id, goal, key, amount, deadlineMs }: Reservation, { nowMs, day, node }: AuditMoment): string {
    if (this.#rows.has(id)) return "done";
    this.#rows.set(id, {
      goal: goalOf(goal, day),
      day,
      key: keyOf(key?.label, day),
      hold: amount,
      charged: 0,
      phase: "sure",
      nodeLifetime: nodeLifetimeOf(node),
      expiresMs: nowMs + deadlineMs + expiryGraceMs,
    });
    return "held";
  }

  #sums(goal: string, day: UtcDay, key: string | undefined): string {
    const sums = [...this.#sum((row) => row.goal === goal), ...this.#sum((row) => row.day === day)];
    if (key !== undefined) sums.push(...this.#sum((row) => row.key === key));
    return sums.join(" ");
  }

  #sum(belongs: (row: { goal: string; day: UtcDay; key: string | undefined }) => boolean): [number, number] {
    let spent = 0;
    let held = 0;
    for (const row of this.#rows.values()) {
      if (!belongs(row)) continue;
      spent += row.charged;
      if (row.phase === "sure" || row.phase === "unsure") held += row.hold;
    }
    return [spent, held];
  }
}

/** The goal `adhoc` starts anew each day. */
function goalOf(goal: string, day: UtcDay): string {
  return goal === "adhoc" ? `adhoc ${day}` : goal;
}

function keyOf(label: string | undefined, day: UtcDay): string | undefined {
  return label === undefined ? undefined : `${label} ${day}`;
}

function nodeLifetimeOf({ id, epoch }: NodeIdentity): string {
  return `${id} ${epoch}`;
}

export function summaryOf(reply: OperationReply | undefined): string {
  switch (reply?.kind) {
    case "spend":
    case "refused": {
      const { goalAccount, dayAccount, keyAccount } = reply.spend;
      const accounts = [goalAccount, dayAccount, ...(keyAccount === undefined ? [] : [keyAccount])];
      const sums = accounts.map(({ spent, held }) => `${spent} ${held}`).join(" ");
      if (reply.kind === "spend") return `spend ${sums}`;
      return `refused ${reply.binding}${reply.retryAfterMs === undefined ? "" : " wait"} ${sums}`;
    }
    default:
      return reply?.kind ?? "nothing";
  }
}
