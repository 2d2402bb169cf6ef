import { describe, expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import { reservationIdOf } from "#ledger/ledger.ts";
import { PostgresStore } from "#ledger/postgres/postgres-store.ts";
import type { BatchReply, Operation } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { postgresMissing } from "../harness/postgres.ts";
import { postgresFixture } from "./postgres-fixture.ts";

const cap = nanoUsd(1_000);

describe.skipIf(postgresMissing() !== undefined)("a batch of a PostgreSQL node", () => {
  const nodes: Node[] = [];
  const database = postgresFixture(async () => {
    for (const { store } of nodes.splice(0)) await store.close();
  });
  const { query, findings } = database;

  interface Node {
    readonly store: PostgresStore;
    readonly identity: NodeIdentity;
    /** The messages sent to the server, in order. */
    readonly sent: string[];
    commit(...operations: Operation[]): Promise<BatchReply>;
  }

  async function open(id: string): Promise<Node> {
    const store = await PostgresStore.open(database.proxiedUrl);
    const identity = await store.join(id);
    const sent: string[] = [];
    database.proxy.watch((text) => sent.push(text));
    const node = {
      store,
      identity,
      sent,
      commit: (...operations: Operation[]) => store.commit({ node: identity, operations }),
    };
    nodes.push(node);
    return node;
  }

  const reserve = (name: string, amount = 100): Operation => ({
    kind: "reserve",
    reservation: {
      id: reservationIdOf(name, 1),
      goal: "g",
      modelKey: "m",
      amount: nanoUsd(amount),
      perGoalHard: cap,
      perDayHard: cap,
      deadlineMs: 60_000,
    },
  });
  const settle = (name: string, actual: number): Operation => ({
    id: reservationIdOf(name, 1),
    kind: "settled",
    actual: nanoUsd(actual),
    source: "usage",
  });
  const kinds = ({ replies }: BatchReply) => replies.map(({ kind }) => kind);
  const goal = async () => {
    const [row] = await query("SELECT held, spent FROM account WHERE id = 'goal/g'");
    return { held: Number(row?.["held"]), spent: Number(row?.["spent"]) };
  };

  test("an id that another node has used is not taken for a new one, and the next batch is not affected", async () => {
    const [a, b] = [await open("a"), await open("b")];
    await a.commit(reserve("r0", 1));
    await b.commit(reserve("r1", 50));
    const [first, second] = await Promise.all([
      a.commit(settle("r0", 1), reserve("r1", 50), reserve("r2", 50)),
      a.commit(settle("r2", 20), reserve("r3", 50)),
    ]);
    expect(kinds(first)).toEqual(["done", "unavailable", "held"]);
    expect(kinds(second)).toEqual(["done", "held"]);
    expect(await goal()).toEqual({ held: 100, spent: 21 });
    expect(await findings()).toEqual([]);
  });

  test("follows a row of its node that names the timeline: if that server is lost, the others wait for this node", async () => {
    await open("a");
    expect((await query("SELECT timeline FROM node"))[0]?.["timeline"]).toMatch(/^[0-9A-F]{8}$/);
  });
});
