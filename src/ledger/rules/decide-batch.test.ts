import { describe, expect, test } from "bun:test";
import { emptyAccount } from "./accounts.ts";
import { decideBatch } from "./decide-batch.ts";
import type { Operation } from "./operations.ts";
import type { ReservationRow } from "./rows.ts";

const nowMs = Date.UTC(2026, 0, 15, 12);
const day = "2026-01-15";

/** A row as written by earlier releases, which held money before dispatch. */
const undispatched: ReservationRow = {
  id: "request.1",
  requestId: "request",
  attempt: 1,
  goalAccount: "goal/g",
  dayAccount: `day/${day}`,
  hold: 300,
  actual: null,
  source: null,
  state: "HELD",
  model: "model",
  nodeId: "node-b",
  nodeEpoch: 1,
  dispatched: false,
  createdMs: nowMs - 61_000,
  expiresMs: nowMs - 1,
  closedMs: null,
};

function decide(operation: Operation) {
  const view = {
    account: (id: string) => ({ ...emptyAccount(id), held: 300 }),
    reservation: (id: string) => (id === undispatched.id ? undispatched : undefined),
  };
  return decideBatch({ node: { id: "node-a", epoch: 1 }, operations: [operation] }, view, { nowMs, day });
}

describe("a reservation that an earlier release wrote as not dispatched", () => {
  test.each(["expire", "orphan"] as const)("is released without a charge: %s", (kind) => {
    const { changes, reply } = decide({ kind, id: undispatched.id });
    expect(changes.updated.map(({ after }) => after.state)).toEqual(["RELEASED"]);
    expect(changes.entries).toMatchObject([{ event: "released", held: -300, spent: 0, reason: "never_dispatched" }]);
    expect(reply.accounts).toMatchObject([
      { id: "goal/g", held: 0, spent: 0 },
      { id: `day/${day}`, held: 0, spent: 0 },
    ]);
  });

  test("can be billed once its outcome is unknown", () => {
    const { changes } = decide({
      kind: "resolve",
      resolution: { id: undispatched.id, kind: "unknown", reason: "reset" },
    });
    expect(changes.updated).toMatchObject([{ after: { state: "UNRESOLVED", dispatched: true } }]);
  });
});
