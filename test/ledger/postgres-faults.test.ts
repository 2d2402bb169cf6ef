import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import type { Ledger, Reservation } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import type { LedgerEvent } from "#ledger/store.ts";
import { reservationOf } from "#ledger/testing/ledger.contract.ts";
import { manualTime } from "#platform/manual-time.ts";
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
      requestId: Bun.randomUUIDv7(),
      goal: `g${made % 3}`,
      amount: nanoUsd(1 + (made % 200)),
      perGoalHard: nanoUsd(cap),
      perDayHard: nanoUsd(cap),
      ...fields,
    });
  }
  const rows = async () =>
    new Map((await query("SELECT id, state, hold FROM reservation")).map((row) => [row["id"], row]));

  /** Load near the cap until `until`: held, settled for less, or refused. Returns each caller's reply. */
  async function load(nodes: readonly Ledger[], callers: number, until: () => boolean) {
    const replies = new Map<string, { reply: string; actual: number | undefined }>();
    let slowestMs = 0;
    const caller = async (index: number) => {
      while (!until()) {
        const ledger = nodes[index % nodes.length]!;
        const reservation = nextReservation();
        const asked = performance.now();
        const reply = await ledger.reserve(reservation);
        slowestMs = Math.max(slowestMs, performance.now() - asked);
        const actual = reply.kind === "held" ? Math.floor(reservation.amount / 50) : undefined;
        replies.set(reservation.id, { reply: reply.kind, actual });
        if (actual === undefined) continue;
        await ledger.resolve([
          { id: reservation.id, kind: "settled", actual: nanoUsd(actual), source: "upstream_cost" },
        ]);
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, i) => caller(i)));
    return { replies, slowestMs };
  }

  /** Compares the callers' replies with the ledger, to the last nano-dollar. */
  async function checkReplies(replies: ReadonlyMap<string, { reply: string; actual: number | undefined }>) {
    const stored = await rows();
    let spent = 0;
    const count = { held: 0, refused: 0, unavailable: 0 };
    for (const [id, { reply, actual }] of replies) {
      count[reply as keyof typeof count] += 1;
      const state = stored.get(id)?.["state"];
      if (reply === "held") {
        expect(state).toBe("SETTLED");
        spent += actual ?? 0;
      } else if (reply === "refused") expect(state).toBeUndefined();
      // The caller was told that nothing is held, so nothing may stay held or be charged.
      else expect([undefined, "RELEASED"]).toContain(state as string | undefined);
    }
    const [day] = await query("SELECT spent, held FROM account WHERE id LIKE 'day/%'");
    expect({ spent: Number(day?.["spent"] ?? 0), held: Number(day?.["held"] ?? 0) }).toEqual({ spent, held: 0 });
    expect(spent).toBeLessThanOrEqual(cap);
    expect(await findings()).toEqual([]);
    return { ...count, spent };
  }

  async function settled(nodes: readonly Ledger[]) {
    const until = runningMs() + 8_000;
    while (nodes.some((ledger) => ledger.status().queued > 0)) {
      if (runningMs() > until) throw new Error("operations still wait after 8 s");
      await Bun.sleep(20);
    }
  }

  test("cut COMMIT replies lose nothing and count nothing twice", async () => {
    const nodes = [await open("a"), await open("b")];
    database.proxy.mode = "cut_commits";
    database.proxy.share = 0.2;
    const end = performance.now() + 2_500;
    const { replies, slowestMs } = await load(nodes, 24, () => performance.now() > end);
    database.proxy.mode = "pass";
    await settled(nodes);
    const figures = await checkReplies(replies);
    // biome-ignore lint/suspicious/noConsole: each run prints its figures
    console.log("cut COMMIT replies:", { cut: database.proxy.cut, ...figures, slowestMs: Math.round(slowestMs) });
    expect(database.proxy.cut).toBeGreaterThan(5);
    expect(figures.held).toBeGreaterThan(50);
  });

  test("terminated backends lose nothing and count nothing twice", async () => {
    const nodes = await Promise.all(["a", "b", "c"].map((id) => open(id, false)));
    const end = performance.now() + 2_500;
    let terminated = 0;
    const killing = (async () => {
      while (performance.now() < end) {
        await Bun.sleep(30 + Math.random() * 150);
        const [gone = []] = await database.admin.run(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND random() < 0.4`,
        );
        terminated += gone.length;
      }
    })();
    const { replies, slowestMs } = await load(nodes, 24, () => performance.now() > end);
    await killing;
    await settled(nodes);
    const figures = await checkReplies(replies);
    // biome-ignore lint/suspicious/noConsole: each run prints its figures
    console.log("terminated backends:", { terminated, ...figures, slowestMs: Math.round(slowestMs) });
    expect(terminated).toBeGreaterThan(5);
    expect(figures.held).toBeGreaterThan(50);
  });

  test("a server that crashes and recovers has every acknowledged hold", async () => {
    const ledger = await open("a", false);
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
  });

  test.each([
    ["whose tables are dropped", "DROP SCHEMA public CASCADE; CREATE SCHEMA public"],
    ["that is emptied", "TRUNCATE account, reservation, ledger_entry, node"],
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

  test("a database that stays unavailable, or refuses access, ends the start", async () => {
    const { port } = database.proxy;
    await database.proxy.close();
    const away = database.url.replace(`:${database.server.port}/`, `:${port}/`);
    const began = performance.now();
    await expect(openLedger(away, { nodeId: "a", clock, waitMs: 700 })).rejects.toThrow("DATABASE_URL");
    expect(performance.now() - began).toBeGreaterThan(600);
    const nobody = database.url.replace(/[^/]*$/, "no_such_database").replace("postgres@", "no_such_user@");
    const log = (event: LedgerEvent) => void events.push(event);
    await expect(openLedger(nobody, { nodeId: "a", clock, waitMs: 20_000, log })).rejects.toThrow("no_such_user");
    expect(events).toEqual([]);
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

  test("a database with asynchronous commits is told to wait for the disk at the ledger's commits", async () => {
    await database.admin.run(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET synchronous_commit = off`);
    const ledger = await open("a");
    const seen: string[] = [];
    const watched = database.proxy.watch((text) => seen.push(text));
    expect((await ledger.reserve(nextReservation())).kind).toBe("held");
    watched();
    expect(seen.some((text) => text.includes("SET LOCAL synchronous_commit = 'on'"))).toBe(true);
  });
});
