import type { Operator } from "#operator/audit.ts";
import type { OperatorSources } from "#operator/sources.ts";
import { sessionMs } from "./session-cookie.ts";

/** A session that was ended on one node is refused on all of them within so many milliseconds. */
const readEveryMs = 1_000;

/** The sessions whose users have logged out, from the audit log that all nodes share. */
export class EndedSessions {
  readonly #sources: Pick<OperatorSources, "stores" | "clock">;
  #ids: ReadonlySet<string> = new Set();
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(sources: Pick<OperatorSources, "stores" | "clock">) {
    this.#sources = sources;
  }

  async has(id: string): Promise<boolean> {
    const { stores, clock } = this.#sources;
    if (clock.monotonic() - this.#readMs >= readEveryMs) {
      this.#readMs = clock.monotonic();
      const ended = async () => (await stores.actions()).targets("session_ended", clock.now() - sessionMs);
      // Without the database those that are known stay ended.
      const ids = await ended().catch(() => undefined);
      if (ids !== undefined) this.#ids = new Set(ids);
    }
    return this.#ids.has(id);
  }

  async end(id: string, operator: Operator): Promise<void> {
    this.#ids = new Set([...this.#ids, id]);
    const actions = await this.#sources.stores.actions().catch(() => undefined);
    await actions?.add(operator, { action: "session_ended", target: id, detail: "" });
  }
}
