import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import type { Ledger, Reservation } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import { lostCommitsOf } from "#ledger/postgres/session.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { reservationOf } from "#ledger/testing/ledger.contract.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { runningMs } from "#platform/testing/running-time.ts";
import { postgresMissing } from "../harness/postgres.ts";
import { root } from "../harness/process.ts";
import { postgresFixture } from "./postgres-fixture.ts";

const missing = postgresMissing();
const clock = { now: () => Date.now(), monotonic: () => performance.now() };
const cap = 20_000;

describe.skipIf(missing !== undefined)("the PostgreSQL ledger, when the store fails", () => {
  let events: LedgerEvent[] = [];
  const ledgers: Ledger[] = [];
  const database = postgresFixture(async () => {
    for (const ledger of ledgers.splice(0)) await ledger.close(3_000);
    events = [];
  });
  const { query, findings } = database;

  async function open(nodeId: string, throughProxy = true): Promise<Ledger> {
    const via = throughProxy ? database.proxiedUrl : database.url;
    const ledger = await openLedger(via, { nodeId, clock, log: (event) => void events.push(event) });
    ledgers.push(ledger);
    return ledger;
  }

  let made = 0;
  function nextReservation(fields: Partial<Reservation> = {}): Reservation {
    made += 1;
    return reservationOf({
      id: `${Bun.randomUUIDv7()}.1`,
      goal: `g${made % 3}`,
      amount: nanoUsd(1 + (made % 200)),
      perGoalHard: nanoUsd(cap),
      perDayHard: nanoUsd(cap),
      ...fields,
    });
  }
  const rows = async () =>
    new Map((await query("SELECT id, state, hold FROM reservation")).map((row) => [row["id"], row]));

  async function settled(nodes: readonly Ledger[]) {
    const until = runningMs() + 8_000;
    while (nodes.some((ledger) => ledger.status().queued > 0)) {
      if (runningMs() > until) throw new Error("operations still wait after 8 s");
      await Bun.sleep(20);
    }
  }

  test("a server that is told to commit asynchronously, crashes and recovers has every acknowledged hold", async () => {
    const ledger = await open("a", false);
    for (const setting of ["synchronous_commit = off", "wal_writer_delay = '10s'"])
      await database.admin.run(`ALTER SYSTEM SET ${setting}`);
    await database.admin.run("SELECT pg_reload_conf()");
    const acknowledged: string[] = [];
    let stopping = false;
    const loading = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!stopping) {
          const reservation = nextReservation({ amount: nanoUsd(1) });
          if ((await ledger.reserve(reservation)).kind === "held") acknowledged.push(reservation.id);
        }
      }),
    );
    await Bun.sleep(700);
    await database.admin.close();
    await database.server.stop("immediate");
    stopping = true;
    await loading;
    await database.server.start();
    database.renewAdmin();
    await settled([ledger]);
    const stored = await rows();
    for (const id of acknowledged) expect(stored.get(id)?.["state"]).toBe("HELD");
    expect(await findings()).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(10);
    // They were on the disk, and not written again.
    expect(events.filter(({ kind }) => kind === "failed_over")).toEqual([]);
    await database.admin.run("ALTER SYSTEM RESET ALL");
    await database.admin.run("SELECT pg_reload_conf()");
  }, 30_000);

  test("a server that takes over without acknowledged commits gets them back before anybody admits", async () => {
    const nodes = [await open("a", false), await open("b", false)] as const;
    const dayCap = { perGoalHard: nanoUsd(cap), perDayHard: nanoUsd(1_000) };
    const hold = async (node: Ledger, amount: number) => {
      const reservation = nextReservation({ amount: nanoUsd(amount), ...dayCap });
      return { id: reservation.id, reply: await node.reserve(reservation) };
    };
    const settle = (node: Ledger, id: string, actual: number) =>
      node.resolve([{ id, kind: "settled", actual: nanoUsd(actual), source: "usage" }]);
    const early = await hold(nodes[0], 100);
    await database.admin.close();
    await database.server.stop();
    database.server.keepCopy();
    await database.server.start();
    const usable = async (node: Ledger) => {
      const until = runningMs() + 20_000;
      while ((await node.read("g0")) === undefined && runningMs() < until) await Bun.sleep(20);
    };
    for (const node of nodes) await usable(node);
    // What follows is lost; also that a third node has joined.
    await settle(nodes[0], early.id, 40);
    const late = [await hold(nodes[0], 500), await hold(nodes[1], 300)];
    const third = await open("c", false);
    late.push(await hold(third, 100));
    await settle(nodes[1], late[1]?.id ?? "", 250);
    expect(late.map(({ reply }) => reply.kind)).toEqual(["held", "held", "held"]);
    await database.server.failOver();
    database.renewAdmin();
    for (const node of [nodes[1], third, nodes[0]]) await usable(node);
    // 40 + 500 + 250 + 100 are taken: whoever asks, 110 are left.
    const more = await Promise.all([hold(nodes[1], 111), hold(third, 111)]);
    expect(more.map(({ reply }) => reply.kind)).toEqual(["refused", "refused"]);
    expect((await hold(third, 110)).reply.kind).toBe("held");
    const stored = await query("SELECT state, hold FROM reservation ORDER BY hold, state");
    expect(stored.map((row) => `${row["state"]} ${row["hold"]}`)).toEqual([
      "HELD 100",
      "SETTLED 100",
      "HELD 110",
      "SETTLED 300",
      "HELD 500",
    ]);
    expect(await findings()).toEqual([]);
    for (const node of [...nodes, third]) {
      // On a busy machine a call may have waited too long behind it; then the next heartbeat tells.
      const until = runningMs() + 20_000;
      while (!node.status().ok && runningMs() < until) await Bun.sleep(20);
      expect(node.status()).toMatchObject({ ok: true, lostCommits: { batches: expect.any(Number), silent: [] } });
    }
    // Three holds and two settlements.
    expect(await lostCommitsOf((sql) => database.admin.run(sql), 7)).toMatchObject({ restored: 5, silent: [] });
  }, 60_000);

  test.each([
    ["whose tables are dropped", "DROP SCHEMA public CASCADE; CREATE SCHEMA public"],
    ["that is emptied", "TRUNCATE account, account_share, reservation, ledger_entry, node"],
  ])("a store %s while it runs is lost: nothing is admitted, and the log says so", async (_, harm) => {
    const time = manualTime(Date.now());
    const log = (event: LedgerEvent) => void events.push(event);
    const ledger = await openLedger(database.url, { nodeId: "a", clock, timers: time.timers, log });
    ledgers.push(ledger);
    expect((await ledger.reserve(nextReservation())).kind).toBe("held");
    await database.admin.run(harm);
    const until = runningMs() + 8_000;
    while (ledger.status().failed === undefined && runningMs() < until) {
      time.advance(6_100);
      await Bun.sleep(2);
    }
    expect(ledger.status()).toMatchObject({ ok: false, failed: "store_lost" });
    expect((await ledger.reserve(nextReservation())).kind).toBe("unavailable");
    expect(events).toContainEqual(expect.objectContaining({ kind: "store_failed", failed: "store_lost" }));
    events = [];
    const again = await openLedger(database.url, {
      nodeId: "b",
      clock,
      log: (event) => events.push(event),
      expectExisting: () => true,
    });
    ledgers.push(again);
    expect(events).toContainEqual({ kind: "store_empty", expected: true });
  });

  test("an answer that came while the process was stopped counts, although its time is over", async () => {
    const program = `
      import { PostgresConnection } from ${JSON.stringify(join(root, "src", "db", "postgres.ts"))};
      const connection = new PostgresConnection(${JSON.stringify(database.url)}, 400);
      await connection.run("SELECT 1");
      const running = connection.run("SELECT pg_sleep(0.2), 2 AS n");
      setTimeout(() => console.log("sent"), 50);
      console.log((await running.catch((error) => [[{ n: error.message }]]))[0][0].n);
      console.log(await connection.run("SELECT pg_sleep(5)").catch((error) => error.message));
      process.exit(0);`;
    const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "inherit" });
    const output = child.stdout.getReader();
    await output.read();
    child.kill("SIGSTOP");
    await Bun.sleep(1_000);
    child.kill("SIGCONT");
    let text = "";
    for (let part = await output.read(); !part.done; part = await output.read())
      text += Buffer.from(part.value).toString();
    expect(text).toBe("2\nPostgreSQL did not answer in 400 ms\n");
  });
});
