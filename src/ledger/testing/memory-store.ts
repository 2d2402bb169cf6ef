import { nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { emptyAccount, isShared } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import type { BatchReply, LedgerBatch, LedgerChanges } from "#ledger/rules/operations.ts";
import {
  type AccountId,
  type AccountRow,
  accountsOf,
  chargedOf,
  type EntryRow,
  isOpen,
  lookupPauseMs,
  maxLookups,
  type NodeIdentity,
  nodeSuspectMs,
  nodeTimeoutMs,
  type ReservationRow,
  type ShareRow,
} from "#ledger/rules/rows.ts";
import type { LockedShares, ShareScope } from "#ledger/rules/shares.ts";
import type { OpenHolds } from "#ledger/shared-sql.ts";
import type { DueReservation, LedgerStore } from "#ledger/store.ts";
import { type Clock, type UtcDay, utcDayOf } from "#platform/time.ts";

interface MemoryNode {
  readonly epoch: number;
  readonly heartbeatMs: number;
  readonly slot: number;
  readonly lastBatch: number;
  /** On which it has recovered; undefined before it has joined for good. */
  readonly timeline: number | undefined;
}

/**
 * The ledger in memory: for tests, and the model that the durable stores are compared with. Nothing survives the
 * process. Accounts that all share are divided, as in PostgreSQL.
 */
export class MemoryStore implements LedgerStore {
  readonly kind = "memory";
  /** Of divided accounts only the caps. */
  readonly #accounts = new Map<AccountId, AccountRow>();
  readonly shares = new Map<AccountId, Map<number, ShareRow>>();
  readonly #grants = new Map<AccountId, number>();
  readonly reservations = new Map<ReservationId, ReservationRow>();
  readonly entries: EntryRow[] = [];
  /** How often a batch could not be decided by what it had locked, by what it needed then. */
  readonly widened = { shares: 0, grants: 0, all: 0 };
  /** What retention has removed from `spent`, by account. */
  readonly carried = new Map<AccountId, number>();
  readonly nodes = new Map<string, MemoryNode>();
  /** Rises when another server takes over. */
  timeline = 1;
  readonly lookups = new Map<ReservationId, { readonly generationId: string; nextMs: number; tries: number }>();
  #day: UtcDay = "";
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async join(nodeId: string): Promise<NodeIdentity> {
    return this.joinNow(nodeId);
  }

  joinNow(nodeId: string, atEpoch?: number): NodeIdentity {
    const known = this.nodes.get(nodeId);
    const epoch = atEpoch ?? (known?.epoch ?? 0) + 1;
    const now = this.#clock.now();
    const living = [...this.nodes].filter(
      ([id, { heartbeatMs }]) => id !== nodeId && heartbeatMs > now - nodeTimeoutMs,
    );
    const used = new Set(living.map(([, { slot }]) => slot));
    let slot = known?.slot ?? 0;
    while (known === undefined && used.has(slot)) slot += 1;
    // One that is new has nothing to recover; the others wait for it, should this server be lost.
    const timeline = known?.timeline ?? (atEpoch === undefined ? this.timeline : undefined);
    this.nodes.set(nodeId, { epoch, heartbeatMs: now, slot, lastBatch: 0, timeline });
    return { id: nodeId, epoch };
  }

  async commit(batch: LedgerBatch): Promise<BatchReply> {
    return this.commitNow(batch);
  }

  /** The same at once, for tests that decide themselves when an answer arrives. */
  commitNow(batch: LedgerBatch): BatchReply {
    const slot = this.nodes.get(batch.node.id)?.slot ?? 0;
    const scopes = new Map<AccountId, ShareScope>();
    for (;;) {
      const view = {
        slot,
        account: (id: AccountId) => this.account(id),
        reservation: (id: ReservationId) => this.reservations.get(id),
        shares: (id: AccountId) => (isShared(id) ? this.#locked(id, slot, scopes.get(id) ?? "shares") : undefined),
      };
      const time = { nowMs: this.#clock.now(), day: this.today() };
      const { reply, changes, short } = decideBatch(batch, view, time);
      for (const [id, scope] of short) {
        scopes.set(id, scope);
        this.widened[scope] += 1;
      }
      if (short.size > 0) continue;
      this.#write(changes);
      return reply;
    }
  }

  #write({ inserted, updated, accounts, shares, grants, entries, lookups }: LedgerChanges): void {
    for (const row of inserted) this.reservations.set(row.id, row);
    for (const { after } of updated) this.reservations.set(after.id, after);
    for (const { after } of accounts) this.#accounts.set(after.id, after);
    for (const { after } of shares) this.#sharesOf(after.account).set(after.slot, after);
    for (const {
      after: { id, granted, hard },
    } of grants) {
      this.#grants.set(id, granted);
      this.#accounts.set(id, { ...(this.#accounts.get(id) ?? emptyAccount(id)), hard });
    }
    this.entries.push(...entries);
    for (const { reservationId, generationId, nextMs } of lookups) {
      this.lookups.set(reservationId, { generationId, nextMs, tries: 0 });
    }
  }

  /** With the sums of its shares. */
  account(id: AccountId): AccountRow {
    const sum = { ...(this.#accounts.get(id) ?? emptyAccount(id)) };
    for (const { held, spent, overrun, unproven } of this.shares.get(id)?.values() ?? []) {
      sum.held += held;
      sum.spent += spent;
      sum.overrun += overrun;
      sum.unproven += unproven;
    }
    return sum;
  }

  accounts(): AccountRow[] {
    return [...new Set([...this.#accounts.keys(), ...this.shares.keys()])].map((id) => this.account(id));
  }

  #sharesOf(id: AccountId): Map<number, ShareRow> {
    const shares = this.shares.get(id) ?? new Map<number, ShareRow>();
    this.shares.set(id, shares);
    return shares;
  }

  #locked(id: AccountId, slot: number, scope: ShareScope): LockedShares {
    const shares = this.#sharesOf(id);
    if (!shares.has(slot)) {
      shares.set(slot, { account: id, slot, granted: 0, held: 0, spent: 0, overrun: 0, unproven: 0 });
    }
    return { scope, rows: [...shares.values()], count: shares.size, granted: this.#grants.get(id) ?? 0 };
  }

  /** What is wrong with what was granted; empty when nothing is. */
  wrongGrants(): string[] {
    return [...this.shares].flatMap(([id, shares]) => {
      const rows = [...shares.values()];
      const sum = rows.reduce((total, { granted }) => total + granted, 0);
      return [
        ...rows.flatMap((row) => (row.held + row.spent > row.granted ? [`${id}: slot ${row.slot} is overdrawn`] : [])),
        ...(sum === (this.#grants.get(id) ?? 0)
          ? []
          : [`${id}: granted ${sum}, the account says ${this.#grants.get(id)}`]),
      ];
    });
  }

  /** The state now; calling the answer brings it back, as a server that lacks what was committed since. */
  snapshot(): () => void {
    const entries = [...this.entries];
    const maps = [this.#accounts, this.#grants, this.reservations, this.carried, this.nodes, this.lookups];
    const copies = maps.map((map) => [...map]);
    const shares = [...this.shares].map(([id, rows]) => [id, new Map(rows)] as const);
    return () => {
      this.entries.splice(0, Number.POSITIVE_INFINITY, ...entries);
      maps.forEach((map, index) => {
        map.clear();
        for (const [key, value] of copies[index] ?? []) (map as Map<unknown, unknown>).set(key, value);
      });
      this.shares.clear();
      for (const [id, rows] of shares) this.shares.set(id, rows);
    };
  }

  /** An operator's own hard cap; null removes it. */
  setCap(account: AccountId, ownHard: number | null): void {
    this.#accounts.set(account, { ...(this.#accounts.get(account) ?? emptyAccount(account)), ownHard });
  }

  async heartbeat(node: NodeIdentity): Promise<void> {
    this.heartbeatNow(node);
  }

  heartbeatNow(node: NodeIdentity): void {
    const known = this.nodes.get(node.id);
    if (known?.epoch === node.epoch) this.nodes.set(node.id, { ...known, heartbeatMs: this.#clock.now() });
  }

  async findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]> {
    const now = this.#clock.now();
    const found: DueReservation[] = [];
    for (const row of this.reservations.values()) {
      if (found.length >= limit) break;
      if (!isOpen(row.state)) continue;
      if (row.expiresMs <= now) found.push({ id: row.id, why: "expired" });
      else if (row.state === "HELD" && this.#isDead(row, node, now)) found.push({ id: row.id, why: "owner_dead" });
    }
    return found;
  }

  async takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    const now = this.#clock.now();
    const taken: BillingLookup[] = [];
    for (const [id, lookup] of this.lookups) {
      if (taken.length === limit || lookup.nextMs > now) continue;
      const row = this.reservations.get(id);
      if (row === undefined || lookup.tries >= maxLookups) {
        this.lookups.delete(id);
        continue;
      }
      lookup.nextMs = now + lookupPauseMs * 2 ** lookup.tries;
      lookup.tries += 1;
      const { generationId, tries } = lookup;
      taken.push({ id, generationId, hold: nanoUsd(row.hold), last: tries === maxLookups });
    }
    return taken;
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    for (const id of ids) this.lookups.delete(id);
  }

  async openHolds(): Promise<OpenHolds> {
    const now = this.#clock.now();
    const running = { count: 0, amount: 0 };
    const unresolved = { count: 0, amount: 0 };
    const rows: OpenHolds["rows"][number][] = [];
    for (const row of this.reservations.values()) {
      if (!isOpen(row.state)) continue;
      const owner = this.nodes.get(row.nodeId);
      const dead = owner === undefined || owner.epoch > row.nodeEpoch || owner.heartbeatMs <= now - nodeSuspectMs;
      const sum = row.state === "HELD" && !dead ? running : unresolved;
      sum.count += 1;
      sum.amount += row.hold;
      if (sum === running) continue;
      const { goalAccount, dayAccount, keyAccount, hold } = row;
      rows.push({
        goalAccount,
        dayAccount,
        keyAccount,
        amount: nanoUsd(hold),
        endsInMs: Math.max(0, row.expiresMs - now),
        asked: this.lookups.has(row.id),
      });
    }
    return { running, unresolved, rows: rows.sort((a, b) => a.endsInMs - b.endsInMs) };
  }

  async prune(retentionMs: number, limit: number): Promise<number> {
    const before = this.#clock.now() - retentionMs;
    let removed = 0;
    for (const row of this.reservations.values()) {
      if (removed >= limit) break;
      if (row.closedMs === null || row.closedMs >= before) continue;
      this.reservations.delete(row.id);
      for (const id of accountsOf(row)) {
        this.carried.set(id, (this.carried.get(id) ?? 0) + chargedOf(row));
      }
      removed += 1;
    }
    const kept = this.entries.filter(({ reservationId }) => this.reservations.has(reservationId));
    this.entries.length = 0;
    this.entries.push(...kept);
    return removed;
  }

  async close(): Promise<void> {}

  today(): UtcDay {
    const today = utcDayOf(this.#clock.now());
    if (today > this.#day) this.#day = today;
    return this.#day;
  }

  #isDead(row: ReservationRow, self: NodeIdentity, now: number): boolean {
    const owner = this.nodes.get(row.nodeId);
    if (row.nodeId === self.id) return row.nodeEpoch < self.epoch;
    return owner === undefined || owner.epoch > row.nodeEpoch || owner.heartbeatMs <= now - nodeTimeoutMs;
  }
}

/** Sums that do not balance; empty when all do. */
export function imbalances(store: MemoryStore): string[] {
  const problems = store.wrongGrants();
  const held = new Map<AccountId, number>();
  const spent = new Map(store.carried);
  const add = (sums: Map<AccountId, number>, id: AccountId, amount: number) =>
    sums.set(id, (sums.get(id) ?? 0) + amount);
  for (const row of store.reservations.values()) {
    for (const id of accountsOf(row)) {
      if (isOpen(row.state)) add(held, id, row.hold);
      add(spent, id, chargedOf(row));
    }
  }
  for (const account of store.accounts()) {
    if (account.held !== (held.get(account.id) ?? 0)) problems.push(`${account.id}: held ${account.held}`);
    if (account.spent !== (spent.get(account.id) ?? 0)) problems.push(`${account.id}: spent ${account.spent}`);
  }
  return problems;
}
