import { type SeenPosition, StorePosition } from "#ledger/lost-commits.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import type { FailOver } from "#ledger/store.ts";
import type { MemoryStore } from "./memory-store.ts";

/** Runs work at the server; takes time, and fails as a store does. */
type Call = <T>(work: () => T) => Promise<T>;

/** One process's side of a server that may be replaced by one that lacks commits: as the PostgreSQL store does it, over rows in memory. */
export class SimulatedConnection {
  readonly position = new StorePosition();
  /** Rises when the connection is dropped, and answers that are under way are lost. */
  generation = 0;
  readonly #disk: MemoryStore;
  readonly #call: Call;
  #sent = 0;

  constructor(disk: MemoryStore, call: Call) {
    this.#disk = disk;
    this.#call = call;
  }

  async join(id: string) {
    const { identity, timeline, earlier } = await this.#call(() => {
      const before = this.#disk.nodes.get(id)?.timeline;
      return {
        identity: this.#disk.joinNow(id),
        timeline: String(this.#disk.timeline),
        earlier: before === undefined || before === this.#disk.timeline ? [] : [id],
      };
    });
    this.position.begin(timeline, earlier);
    return identity;
  }

  /** At the server, at the beginning of a batch. Throws where it lacks commits. */
  check(node: NodeIdentity): void {
    this.position.check(node, this.#seen(node));
  }

  /** At the server, with a batch. Answers its number. */
  number(node: NodeIdentity): number {
    const known = this.#disk.nodes.get(node.id);
    this.#sent = Math.max(this.#sent, this.position.acknowledged) + 1;
    if (known?.epoch === node.epoch) this.#disk.nodes.set(node.id, { ...known, lastBatch: this.#sent });
    return this.#sent;
  }

  async heartbeat(node: NodeIdentity): Promise<void> {
    const { acknowledged } = this.position;
    const seen = await this.#call(() => {
      const { timeline } = this.#disk.nodes.get(node.id) ?? {};
      if (timeline === undefined || timeline === this.#disk.timeline) this.#disk.heartbeatNow(node);
      return this.#seen(node);
    });
    this.position.check(node, seen, acknowledged);
  }

  readonly failOver: FailOver = {
    rejoin: (node) => {
      this.generation += 1;
      return this.#call(() => {
        const seen = this.#seen(node);
        if (seen.epoch === undefined || seen.epoch < node.epoch) this.#disk.joinNow(node.id, node.epoch);
        return this.position.accept(node, seen);
      });
    },
    notRecovered: (node) =>
      this.#call(() => {
        const { nodes, timeline } = this.#disk;
        const own = nodes.get(node.id);
        if (own?.epoch === node.epoch) nodes.set(node.id, { ...own, timeline });
        const others = [...nodes].filter(([, row]) => row.timeline !== undefined && row.timeline !== timeline);
        const last = Math.max(...others.map(([, { heartbeatMs }]) => heartbeatMs));
        return others.flatMap(([id, { heartbeatMs }]) => (heartbeatMs > last - 15_000 ? [id] : []));
      }),
    finish: (_, { silent }) =>
      this.#call(() => {
        for (const id of silent) {
          const row = this.#disk.nodes.get(id);
          if (row !== undefined) this.#disk.nodes.set(id, { ...row, timeline: this.#disk.timeline });
        }
        this.position.recovered();
      }),
  };

  #seen({ id }: NodeIdentity): SeenPosition {
    const row = this.#disk.nodes.get(id);
    return { timeline: String(this.#disk.timeline), ...(row && { epoch: row.epoch, lastBatch: row.lastBatch }) };
  }
}
