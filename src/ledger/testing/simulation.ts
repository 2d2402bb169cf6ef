import { nanoUsd } from "#domain/money/money.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import type { Ledger, Reservation, ReservationId, Resolution, Spend } from "#ledger/ledger.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import { type AccountId, accountsOf, chargedOf, isOpen } from "#ledger/rules/rows.ts";
import { type DueReservation, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import type { Random } from "#platform/time.ts";
import { type AuditMoment, Auditor, summaryOf } from "./auditor.ts";
import { imbalances, MemoryStore } from "./memory-store.ts";
import { SimulatedConnection } from "./simulated-connection.ts";
import { VirtualTime } from "./virtual-time.ts";

/**
 * Gateways, a store and an upstream in virtual time, with everything that can go wrong going wrong at every await: lost
 * commit replies, commits that land late, outages, crashes, clocks that jump, callers that disconnect, an upstream that
 * bills and then resets. One seed is one history, always the same.
 *
 * Two checks: an auditor, which is a second, plainer implementation of the ledger and predicts every reply; and the
 * upstream's own bill, which no charge may be below and no cap below that.
 */
export interface SimulationReport {
  readonly seed: number;
  readonly held: number;
  readonly refused: number;
  /** Refused after a read of the store, before a reservation was sent. */
  readonly refusedByRead: number;
  readonly unavailable: number;
  readonly crashes: number;
  readonly lostReplies: number;
  readonly failOvers: number;
  /** Acknowledged holds that another server lacked. */
  readonly lostHolds: number;
  readonly restored: number;
  /** Nodes that did not come back. */
  readonly silent: number;
  readonly billed: number;
  readonly spent: number;
}

class SimulationFailure extends Error {
  override readonly name = "SimulationFailure";
}

const goals = ["alpha", "beta", "adhoc"] as const;
/** The labels of callers' keys; undefined for a key without a cap. */
const keys = ["one", "two", undefined] as const;

/** The highest hard caps of every goal, every day and every capped key. */
const goalCap = nanoUsd(1_000);
const dayCap = nanoUsd(2_400);
const keyCap = nanoUsd(1_500);

function capOf(account: AccountId): number {
  return account.startsWith("day/") ? dayCap : account.startsWith("key/") ? keyCap : goalCap;
}

export async function simulate(seed: number): Promise<SimulationReport> {
  const world = new Simulation(seed);
  try {
    return await world.run();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new SimulationFailure(`seed ${seed}: ${message}\n${world.history.slice(-40).join("\n")}`, { cause: error });
  }
}

class Simulation {
  readonly history: string[] = [];
  readonly #random: Random;
  readonly #time: VirtualTime;
  readonly #disk: MemoryStore;
  #auditor = new Auditor();
  readonly #nodes: SimulatedNode[] = [];
  /** The upstream's bill for each attempt. */
  readonly #bill = new Map<ReservationId, number>();
  #terminal = new Map<ReservationId, string>();
  /** Fail-overs from which nodes may still be recovering. */
  #recovering = 0;
  /** Commits run one after the other, as account locks require. */
  #lock: Promise<void> = Promise.resolve();
  #down = false;
  /** As the policy and the keys' file have them now. */
  #caps = { day: dayCap, key: keyCap };
  #faulty = true;
  #overruns = false;
  /** The auditor at the time of the last refusal of a reservation, by reservation. */
  readonly #atRefusal = new Map<ReservationId, { auditor: Auditor; at: AuditMoment }>();
  /** Reservations whose callers were answered `unavailable`. */
  readonly #unused: { id: ReservationId; node: SimulatedNode; life: number }[] = [];
  #made = 0;
  /** Whose process made a reservation. */
  readonly #owners = new Map<ReservationId, { node: SimulatedNode; life: number }>();
  /** A process ended whose last commits may be among those that a server lacked: what it knew is gone. */
  #unknowable = false;
  #failure: Error | undefined;
  readonly #counts = {
    ...{ held: 0, refused: 0, refusedByRead: 0, unavailable: 0, crashes: 0, lostReplies: 0 },
    ...{ failOvers: 0, lostHolds: 0, restored: 0, silent: 0 },
  };
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    // In a third of the runs within the last hour of a day, so that the run crosses midnight.
    const midnight = Date.UTC(2026, 0, 15);
    this.#time = new VirtualTime(this.#chance(0.33) ? midnight - this.#between(1_000, 90_000) : midnight + 40_000_000);
    this.#disk = new MemoryStore(this.#time);
  }

  async run(): Promise<SimulationReport> {
    this.#time.check = () => {
      if (this.#failure !== undefined) throw this.#failure;
    };
    this.#overruns = this.#chance(0.15);
    const nodeCount = this.#between(1, 3);
    for (let i = 0; i < nodeCount; i++) {
      const node = new SimulatedNode(`node-${i}`);
      this.#nodes.push(node);
      void this.#start(node);
    }
    const endMs = this.#between(20_000, 100_000);
    for (let i = this.#between(10, 60); i > 0; i--)
      this.#time.after(this.#random() * endMs, () => void this.#request());
    for (let i = this.#between(0, 3); i > 0; i--) this.#time.after(this.#random() * endMs, () => this.#crash());
    for (let i = this.#between(0, 2); i > 0; i--) this.#time.after(this.#random() * endMs, () => this.#outage());
    // Which nodes lived when a server was lost is known by that server's clock: it does not jump as well.
    const [jumps, failOvers] = this.#chance(0.5) ? [this.#between(0, 2), 0] : [0, this.#between(0, 2)];
    for (let i = jumps; i > 0; i--) this.#time.after(this.#random() * endMs, () => this.#jump());
    for (let i = this.#between(0, 3); i > 0; i--) this.#time.after(this.#random() * endMs, () => this.#changeCaps());
    for (let i = failOvers; i > 0; i--) this.#time.after(this.#random() * endMs, () => this.#failOver());
    await this.#time.runUntil(endMs);

    // All faults end; open reservations expire, and every live node and the sweep run to completion.
    this.#note("calm");
    this.#faulty = false;
    this.#down = false;
    for (const node of this.#nodes) if (node.ledger === undefined) void this.#start(node);
    await this.#time.runUntil(endMs + 90_000);
    // Longer than any backward jump of the clock has delayed it.
    this.#time.jumpedMs += 6 * 3_600_000;
    await this.#time.runUntil(endMs + 110_000);
    this.#checkEnd();
    for (const { ledger } of this.#nodes) void ledger?.close(100);
    await this.#time.runUntil(endMs + 111_000);

    const dayAccounts = this.#disk.accounts().filter(({ id }) => id.startsWith("day/"));
    return {
      seed: this.#seed,
      ...this.#counts,
      billed: [...this.#bill.values()].reduce((sum, amount) => sum + amount, 0),
      spent: dayAccounts.reduce((sum, { spent }) => sum + spent, 0),
    };
  }

  async #start(node: SimulatedNode): Promise<void> {
    if (node.ledger !== undefined || node.starting) return;
    node.starting = true;
    const life = ++node.life;
    while (node.life === life && node.ledger === undefined) {
      try {
        const store = this.#storeOf(node, life);
        const ledger = await BatchedLedger.open(store, node.id, {
          clock: this.#time,
          timers: { after: (ms, callback) => this.#time.after(ms, () => node.life === life && callback()) },
          random: this.#random,
          log: (event) => {
            if (event.kind !== "failed_over") return;
            this.#note(
              `${node.id} recovers ${event.restored} entries of ${event.batches} batches without ${event.silent}`,
            );
            this.#counts.restored += event.restored;
            this.#counts.silent += event.silent.length;
          },
          retentionMs: () => 30 * 86_400_000,
        });
        if (node.life === life) node.ledger = ledger;
      } catch {
        await this.#time.sleep(500); // The store is unavailable: start it again, as a supervisor would.
      }
    }
    node.starting = false;
  }

  #crash(): void {
    const node = this.#nodes[this.#between(0, this.#nodes.length - 1)];
    if (node === undefined) return;
    this.#note(`${node.id} crashes`);
    this.#counts.crashes += 1;
    node.life += 1;
    node.handed = [];
    node.ledger = undefined;
    node.starting = false;
    this.#time.after(this.#between(10, 70_000), () => void this.#start(node));
  }

  #outage(): void {
    this.#note("store unavailable");
    this.#down = true;
    this.#time.after(this.#between(100, 20_000), () => {
      this.#note("store available");
      this.#down = false;
    });
  }

  /** The server fails, and one takes over that may lack the last two seconds. */
  #failOver(): void {
    const timeline = this.#disk.timeline;
    const bringBack = this.#disk.snapshot();
    const auditor = this.#auditor.copy();
    const terminal = new Map(this.#terminal);
    const lives = this.#nodes.map(({ life }) => life);
    for (let i = 0; i < 4; i++) this.#time.after(this.#between(0, 1_000), () => void this.#request());
    this.#time.after(this.#between(0, 2_000), () => {
      if (!this.#faulty || this.#disk.timeline !== timeline) return;
      const before = new Set(this.#disk.reservations.keys());
      const joined = new Map(this.#nodes.map((node) => [node, this.#disk.nodes.get(node.id)?.epoch]));
      bringBack();
      for (const [node, epoch] of joined) {
        if (this.#disk.nodes.get(node.id)?.epoch !== epoch) node.unknownLife = node.life;
      }
      for (const id of before) if (!this.#disk.reservations.has(id)) this.#counts.lostHolds += 1;
      this.#auditor = auditor;
      this.#terminal = terminal;
      this.#disk.timeline += 1;
      this.#counts.failOvers += 1;
      this.#down = true;
      this.#recovering += 1;
      this.#note(`another server takes over, ${before.size - this.#disk.reservations.size} holds are lost`);
      this.#time.after(this.#between(100, 10_000), () => {
        this.#down = false;
        for (let i = 0; i < 4; i++) this.#time.after(this.#between(0, 5_000), () => void this.#request());
      });
      // By then every living node has noticed and recovered, or was given up.
      this.#time.after(45_000, () => {
        this.#recovering -= 1;
        if (this.#nodes.some(({ life }, index) => life !== lives[index])) this.#unknowable = true;
      });
      if (this.#nodes.some(({ life }, index) => life !== lives[index])) this.#unknowable = true;
    });
  }

  /** A reload of the policy, or an operator's own cap for the day. */
  #changeCaps(): void {
    const cap = (most: number) => nanoUsd(this.#chance(0.3) ? most : this.#between(0, most));
    if (this.#chance(0.5)) {
      this.#caps = { day: cap(dayCap), key: cap(keyCap) };
      this.#note(`caps of the day and of keys are now ${this.#caps.day} and ${this.#caps.key}`);
      return;
    }
    const day = this.#disk.today();
    const own = this.#chance(0.3) ? null : cap(dayCap);
    this.#note(`an operator's cap of ${day} is now ${own}`);
    this.#disk.setCap(`day/${day}`, own);
    this.#auditor.setDayCap(day, own);
  }

  #jump(): void {
    const ms = this.#between(-7_200_000, 7_200_000);
    this.#note(`clock jumps by ${ms} ms`);
    this.#time.jumpedMs += ms;
  }

  /** A caller: one request, and sometimes another one as soon as it has its answer. */
  async #request(): Promise<void> {
    const node = this.#nodes[this.#between(0, this.#nodes.length - 1)];
    const goal = goals[this.#between(0, goals.length - 1)] ?? "alpha";
    const key = keys[this.#between(0, keys.length - 1)];
    do {
      if (node === undefined || !(await this.#oneRequest(node, goal, key))) return;
    } while (this.#faulty && this.#chance(0.6));
  }

  /** One request with its retries, as in the pipeline. False if its caller gives up. */
  async #oneRequest(node: SimulatedNode, goal: string, key: string | undefined): Promise<boolean> {
    const { ledger, life } = node;
    if (ledger === undefined) return false;
    const alive = () => node.life === life;
    const requestId = `request-${++this.#made}`;
    let closing: Resolution[] = [];
    for (let attempt = 1; attempt <= 3; attempt++) {
      const reservation: Reservation = {
        id: `${requestId}.${attempt}`,
        goal,
        modelKey: "model",
        amount: nanoUsd(this.#between(0, 400)),
        perGoalHard: goalCap,
        perDayHard: this.#caps.day,
        ...(key !== undefined && { key: { label: key, dayHard: this.#caps.key } }),
        deadlineMs: this.#between(0, 60_000),
      };
      if (attempt === 1 && (await this.#refusedByRead(node, ledger, reservation))) return false;
      if (!alive()) return false;
      const asked = this.#time.monotonic();
      node.handed.push(...closing);
      const handed = [...node.handed];
      const reply = await ledger.reserve(reservation, closing);
      if (!alive()) return false;
      if (reply.kind === "refused") this.#checkRefusal(reservation, handed, this.#atRefusal.get(reservation.id));
      if (this.#time.monotonic() - asked > 1_100) this.#fail(`${reservation.id} waited too long`);
      this.#note(`${node.id} ${reservation.id} ${goal} ${reservation.amount}: ${reply.kind}`);
      this.#counts[reply.kind] += 1;
      closing = [];
      if (reply.kind === "unavailable") this.#unused.push({ id: reservation.id, node, life });
      if (reply.kind !== "held") return true;
      this.#owners.set(reservation.id, { node, life });
      // Acknowledged, so it is in the ledger, and no later crash may lose it.
      if (this.#recovering === 0 && !this.#disk.reservations.has(reservation.id))
        this.#fail(`${reservation.id} was acknowledged and is not there`);
      const last = await this.#callUpstream(node, ledger, alive, reservation);
      if (last === undefined || !alive()) return alive();
      closing = [last];
    }
    if (closing.length > 0) this.#resolveFrom(node, ledger, closing);
    return true;
  }

  /** As in the pipeline: the state that this node saw last may admit; a refusal needs a read of the store. */
  async #refusedByRead(node: SimulatedNode, ledger: Ledger, reservation: Reservation): Promise<boolean> {
    const { amount, perGoalHard, perDayHard, key } = reservation;
    const exceeds = ({ goalAccount, dayAccount, keyAccount, dayHardOverride = perDayHard }: Spend) =>
      goalAccount.spent + goalAccount.held + amount > perGoalHard ||
      dayAccount.spent + dayAccount.held + amount > dayHardOverride ||
      (keyAccount !== undefined && keyAccount.spent + keyAccount.held + amount > (key?.dayHard ?? 0));
    const seen = ledger.peek(reservation.goal, reservation.key?.label);
    if (seen !== undefined && !exceeds(seen)) return false;
    const { life } = node;
    const handed = [...node.handed];
    const spend = await ledger.read(reservation.goal, reservation.key?.label, (later) => !exceeds(later));
    if (node.life !== life || spend === undefined) return false;
    this.#checkRead(handed, node.atRead);
    if (!exceeds(spend)) return false;
    this.#note(`${node.id} ${reservation.id} ${reservation.goal} ${reservation.amount}: refused by a read`);
    this.#counts.refusedByRead += 1;
    this.#checkRefusal(reservation, handed, node.atRead);
    return true;
  }

  /** A read sees every resolution that the node had received before: `handed`. Applied once more they change nothing. */
  #checkRead(
    handed: readonly Resolution[],
    then: { readonly auditor: Auditor; readonly at: AuditMoment } | undefined,
  ): void {
    if (then === undefined) this.#fail("the store was not read");
    const auditor = then.auditor.copy();
    for (const resolution of handed) auditor.predict(resolution, then.at);
    if (!auditor.equals(then.auditor)) this.#fail("a read does not see what its node had received before");
  }

  /**
   * A refusal is right only if the money is lacking even with every resolution that the node had received before:
   * `handed`. The upstream's answers are out by then, so their callers may rely on it.
   */
  #checkRefusal(
    reservation: Reservation,
    handed: readonly Resolution[],
    then: { readonly auditor: Auditor; readonly at: AuditMoment } | undefined,
  ): void {
    if (then === undefined) this.#fail(`${reservation.id} was refused without a look at the store`);
    const auditor = then.auditor.copy();
    for (const resolution of handed) auditor.predict(resolution, then.at);
    const expected = auditor.predict({ kind: "reserve", reservation }, then.at);
    if (!expected.startsWith("refused")) {
      this.#fail(`${reservation.id} was refused though the resolutions its node had received leave room: ${expected}`);
    }
  }

  /** Returns how to close the attempt if another one follows; undefined when the request is over. */
  async #callUpstream(
    node: SimulatedNode,
    ledger: Ledger,
    alive: () => boolean,
    { id, amount }: Reservation,
  ): Promise<Resolution | undefined> {
    const rejected = this.#chance(0.15);
    const most = this.#overruns && this.#chance(0.3) ? amount * 2 + 10 : amount;
    const actual = nanoUsd(rejected ? 0 : this.#chance(0.3) ? most : this.#between(0, most));
    // Billed at some time during the call, whether or not the caller is still connected.
    this.#time.after(this.#between(0, 2_000), () => this.#billed(id, actual));
    await this.#time.sleep(this.#between(1, 30_000));
    if (!alive()) return undefined;
    if (rejected) return { id, kind: "released", reason: "rejected" };
    const roll = this.#random();
    if (roll < 0.15) return { id, kind: "unknown", reason: "timed out" };
    if (roll < 0.25) {
      // Reset after billing: sometimes the true cost becomes known later, even after the hold was charged.
      this.#resolveFrom(node, ledger, [{ id, kind: "unknown", reason: "reset" }]);
      await this.#time.sleep(this.#between(0, 80_000));
      if (alive() && actual <= amount && this.#chance(0.4)) {
        // An operator ends the hold with an estimate that is not below the bill; the real figure may still arrive.
        this.#resolveFrom(node, ledger, [
          actual === 0 && this.#chance(0.5)
            ? { id, kind: "released", reason: "operator", source: "operator" }
            : { id, kind: "settled", actual: nanoUsd(this.#between(actual, amount)), source: "operator" },
        ]);
        await this.#time.sleep(this.#between(0, 40_000));
      }
      if (alive() && this.#chance(0.6))
        this.#resolveFrom(node, ledger, [{ id, kind: "settled", actual, source: "usage" }]);
      return undefined;
    }
    if (roll < 0.35) {
      // The caller disconnected, and the ledger must not release the hold for that.
      if (actual <= amount) this.#resolveFrom(node, ledger, [{ id, kind: "charged", reason: "caller disconnected" }]);
      else this.#resolveFrom(node, ledger, [{ id, kind: "settled", actual, source: "at_least" }]);
      return undefined;
    }
    if (roll < 0.4) return undefined; // A defect of ours: the outcome is never reported.
    const settled: Resolution = { id, kind: "settled", actual, source: "upstream_cost" };
    this.#resolveFrom(node, ledger, [settled]);
    if (this.#chance(0.1)) this.#resolveFrom(node, ledger, [settled, settled]);
    if (this.#chance(0.05)) this.#resolveFrom(node, ledger, [{ id, kind: "unknown", reason: "late news" }]);
    return undefined;
  }

  #resolveFrom(node: SimulatedNode, ledger: Ledger, resolutions: readonly Resolution[]): void {
    node.handed.push(...resolutions);
    for (const { id, kind } of resolutions) this.#note(`${id} ${kind}`);
    // As the pipeline does behind an answer, and as a billing lookup does, which waits for it.
    if (this.#chance(0.8)) ledger.resolveInBackground(resolutions);
    else void ledger.resolve(resolutions);
  }

  #billed(id: ReservationId, amount: number): void {
    this.#bill.set(id, amount);
    this.#checkBill(id);
  }

  #storeOf(node: SimulatedNode, life: number): LedgerStore {
    const disk = this.#disk;
    /** Any call to the store: takes time, fails in the ways of stores, and never answers a dead process. */
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.#time.sleep(this.#latency());
      if (node.life !== life) return new Promise(() => {});
      if (this.#down || (this.#faulty && this.#chance(0.02))) throw new StoreFailure("transient", "simulated");
      return work();
    };
    const connection = new SimulatedConnection(disk, (work) => call(async () => work()));
    return {
      kind: "memory",
      failOver: connection.failOver,
      join: (id) => connection.join(id),
      heartbeat: (identity) => connection.heartbeat(identity),
      findDue: (identity, limit) => call<readonly DueReservation[]>(() => disk.findDue(identity, limit)),
      openHolds: () => call(() => disk.openHolds()),
      takeLookups: (limit) => call(() => disk.takeLookups(limit)),
      dropLookups: (ids) => call(() => disk.dropLookups(ids)),
      prune: (retentionMs, limit) => call(() => disk.prune(retentionMs, limit)),
      commit: (batch) => this.#commit(node, life, batch, connection),
      close: async () => {},
    };
  }

  async #commit(
    node: SimulatedNode,
    life: number,
    batch: LedgerBatch,
    connection: SimulatedConnection,
  ): Promise<BatchReply> {
    await this.#time.sleep(this.#latency());
    if (this.#down) throw new StoreFailure("transient", "simulated outage");
    const fault = this.#faulty ? this.#random() : 1;
    if (fault < 0.03) throw new StoreFailure("transient", "simulated failure before the commit");
    // Waits for the transaction that holds the account locks, also if its own process has given it up.
    const before = this.#lock;
    let unlock = () => {};
    this.#lock = new Promise((resolve) => {
      unlock = resolve;
    });
    const [{ timeline }, { generation }] = [this.#disk, connection];
    let number = 0;
    const outcome = (async () => {
      await before;
      try {
        const isGone = () => this.#disk.timeline !== timeline || connection.generation !== generation;
        if (this.#down || isGone()) return undefined;
        if (node.life === life) connection.check(batch.node);
        // Between the lock and the commit: a crash here leaves open which of the two happens.
        await this.#time.sleep(this.#latency());
        if (node.life !== life && this.#chance(0.5)) return undefined;
        // Its server or its connection is gone, and the transaction with it.
        if (isGone()) return undefined;
        number = connection.number(batch.node);
        return this.#apply(node, life, batch);
      } finally {
        unlock();
      }
    })();
    if (fault < 0.06) {
      this.#counts.lostReplies += 1;
      outcome.catch(() => {}); // Its failure is lost as well.
      await this.#time.sleep(this.#between(0, 2_500));
      throw new StoreFailure("transient", "simulated loss of the reply");
    }
    const reply = await outcome;
    await this.#time.sleep(this.#latency());
    if (node.life !== life) return new Promise(() => {});
    if (reply === undefined) throw new StoreFailure("transient", "simulated roll-back");
    if (connection.generation !== generation) throw new StoreFailure("transient", "the connection was dropped");
    // The answer of a server that is gone may arrive, too.
    connection.position.acknowledged = number;
    return reply;
  }

  #apply(node: SimulatedNode, life: number, batch: LedgerBatch): BatchReply {
    const reply = this.#disk.commitNow(batch);
    const context = { nowMs: this.#time.now(), day: reply.day, node: batch.node };
    for (const [index, operation] of batch.operations.entries()) {
      const expected = this.#auditor.predict(operation, context);
      const actual = summaryOf(reply.replies[index]);
      if (expected !== actual) {
        this.#fail(`${JSON.stringify(operation)} was answered ${actual}, the auditor expected ${expected}`);
      }
      if (operation.kind === "reserve" && actual.startsWith("refused")) {
        this.#atRefusal.set(operation.reservation.id, { auditor: this.#auditor.copy(), at: context });
      }
      if (operation.kind === "reserve" && operation.admitted === undefined && actual === "held") {
        this.#checkRestored(operation.reservation.id);
      }
      if (operation.kind === "read" && node.life === life) {
        node.atRead = { auditor: this.#auditor.copy(), at: context };
      }
    }
    this.#checkLedger();
    return reply;
  }

  /** Nobody admits while a server lacks what was acknowledged to living nodes. */
  #checkRestored(admitted: ReservationId): void {
    for (const [id, { node, life }] of this.#recovering > 0 ? this.#owners : []) {
      if (node.life === life && node.unknownLife !== life && !this.#disk.reservations.has(id))
        this.#fail(`${admitted} was admitted without ${id}`);
    }
  }

  #checkLedger(): void {
    for (const problem of imbalances(this.#disk)) this.#fail(problem);
    for (const { id, spent, held, overrun } of this.#disk.accounts()) {
      const cap = capOf(id);
      // What a process knew that is gone may leave holds open that had ended.
      const isKnown = this.#recovering === 0 && !this.#unknowable;
      if (isKnown && spent + held > cap + overrun)
        this.#fail(`${id}: spent ${spent} + held ${held} > cap ${cap} + overrun ${overrun}`);
      if (!this.#overruns && overrun > 0) this.#fail(`${id}: overrun ${overrun} where nothing cost more than its hold`);
    }
    for (const row of this.#disk.reservations.values()) {
      const before = this.#terminal.get(row.id);
      if (before !== undefined && before !== row.state) this.#fail(`${row.id} went from ${before} to ${row.state}`);
      const estimated = row.state !== "CORRECTED" && (row.source === "operator" || row.source === "at_least");
      if (["SETTLED", "RELEASED", "CORRECTED"].includes(row.state) && !estimated) this.#terminal.set(row.id, row.state);
      this.#checkBill(row.id);
    }
  }

  /** A billed amount is held while the bill may still come, and charged once the reservation is closed. */
  #checkBill(id: ReservationId): void {
    const billed = this.#bill.get(id) ?? 0;
    const row = this.#disk.reservations.get(id);
    if (row === undefined) {
      const owner = this.#owners.get(id);
      if (this.#recovering > 0 || (owner !== undefined && owner.node.life !== owner.life)) return;
      if (billed > 0) this.#fail(`${id} was billed ${billed} without a reservation`);
      return;
    }
    const covered = isOpen(row.state) ? row.hold : chargedOf(row);
    // Above the hold only the settlement knows the cost; until then the hold counts.
    const wanted = row.state === "SETTLED" || row.state === "CORRECTED" ? billed : Math.min(billed, row.hold);
    if (covered < wanted) this.#fail(`${id} is ${row.state} with ${covered}, the upstream billed ${billed}`);
  }

  #checkEnd(): void {
    for (const row of this.#disk.reservations.values()) {
      if (isOpen(row.state)) this.#fail(`${row.id} is ${row.state} long after its end`);
    }
    for (const { id, held } of this.#disk.accounts()) if (held !== 0) this.#fail(`${id} still holds ${held}`);
    this.#checkLedger();
    for (const { id, node, life } of this.#unused) {
      const row = this.#disk.reservations.get(id);
      // Only a living process can report that the reservation was not used.
      if (row === undefined || node.life !== life || chargedOf(row) === 0) continue;
      this.#fail(`${id} is ${row.state} with ${chargedOf(row)}, but its caller was answered unavailable`);
    }
    if (this.#overruns) return;
    const billedTo = new Map<AccountId, number>();
    for (const [id, amount] of this.#bill) {
      const row = this.#disk.reservations.get(id);
      for (const account of row === undefined ? [] : accountsOf(row)) {
        billedTo.set(account, (billedTo.get(account) ?? 0) + amount);
      }
    }
    for (const [account, amount] of billedTo) {
      const cap = capOf(account);
      if (amount > cap) this.#fail(`${account}: the upstream billed ${amount} of a cap of ${cap}`);
    }
  }

  #latency(): number {
    return this.#chance(0.03) ? this.#between(100, 1_800) : this.#between(0, 12);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  /** A whole number from `least` to `most`, both included. */
  #between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  #note(what: string): void {
    this.history.push(`${(this.#time.monotonic() / 1_000).toFixed(3)} s  ${what}`);
  }

  /** Thrown where it is found, and stored, because it may be found inside a promise of a dead process. */
  #fail(message: string): never {
    this.#failure ??= new SimulationFailure(message);
    throw this.#failure;
  }
}

class SimulatedNode {
  readonly id: string;
  /** Increases with each crash; work of an earlier life has no effect any more. */
  life = 0;
  /** The life whose beginning a server has lost: the other nodes cannot know that they have to wait for it. */
  unknownLife = -1;
  starting = false;
  ledger: BatchedLedger | undefined;
  /** Every resolution that this life of the node has received. */
  handed: Resolution[] = [];
  /** The auditor at the time of this node's last read of the store. */
  atRead: { readonly auditor: Auditor; readonly at: AuditMoment } | undefined;

  constructor(id: string) {
    this.id = id;
  }
}
