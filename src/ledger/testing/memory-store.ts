import { nanoUsd } from "#domain/money/money.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import { emptyAccount } from "#ledger/rules/accounts.ts";
import { decideBatch } from "#ledger/rules/decide-batch.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
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
} from "#ledger/rules/rows.ts";
import type { OpenHolds } from "#ledger/shared-sql.ts";
import type { DueReservation, LedgerStore } from "#ledger/store.ts";
import { type Clock, type UtcDay, utcDayOf } from "#platform/time.ts";

/** The ledger in memory: for tests, and the model that the durable stores are compared with. Nothing survives the process. */
export class MemoryStore implements LedgerStore {
  readonly kind = "memory";
  readonly accounts = new Map<AccountId, AccountRow>();
  readonly reservations = new Map<ReservationId, ReservationRow>();
  readonly entries: EntryRow[] = [];
  /** What retention has removed from `spent`, by account. */
  readonly carried = new Map<AccountId, number>();
  readonly nodes = new Map<string, { epoch: number; heartbeatMs: number }>();
  readonly lookups = new Map<ReservationId, { readonly generationId: string; nextMs: number; tries: number }>();
  #day: UtcDay = "";
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async join(nodeId: string): Promise<NodeIdentity> {
    const epoch = (this.nodes.get(nodeId)?.epoch ?? 0) + 1;
    this.nodes.set(nodeId, { epoch, heartbeatMs: this.#clock.now() });
    return { id: nodeId, epoch };
  }

  async commit(batch: LedgerBatch): Promise<BatchReply> {
    return this.commitNow(batch);
  }

  /** The same at once, for tests that decide themselves when an answer arrives. */
  commitNow(batch: LedgerBatch): BatchReply {
    const view = {
      account: (id: AccountId) => this.accounts.get(id) ?? emptyAccount(id),
      reservation: (id: ReservationId) => this.reservations.get(id),
    };
    const { reply, changes } = decideBatch(batch, view, { nowMs: this.#clock.now(), day: this.#today() });
    for (const row of changes.inserted) this.reservations.set(row.id, row);
    for (const { after } of changes.updated) this.reservations.set(after.id, after);
    for (const { after } of changes.accounts) this.accounts.set(after.id, after);
    this.entries.push(...changes.entries);
    for (const { reservationId, generationId, nextMs } of changes.lookups) {
      this.lookups.set(reservationId, { generationId, nextMs, tries: 0 });
    }
    return reply;
  }

  /** An operator's own hard cap; null removes it. */
  setCap(account: AccountId, ownHard: number | null): void {
    this.accounts.set(account, { ...(this.accounts.get(account) ?? emptyAccount(account)), ownHard });
  }

  async heartbeat(node: NodeIdentity): Promise<void> {
    if (this.nodes.get(node.id)?.epoch === node.epoch) {
      this.nodes.set(node.id, { epoch: node.epoch, heartbeatMs: this.#clock.now() });
    }
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

  #today(): UtcDay {
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
  const problems: string[] = [];
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
  for (const account of store.accounts.values()) {
    if (account.held !== (held.get(account.id) ?? 0)) problems.push(`${account.id}: held ${account.held}`);
    if (account.spent !== (spent.get(account.id) ?? 0)) problems.push(`${account.id}: spent ${account.spent}`);
  }
  return problems;
}
