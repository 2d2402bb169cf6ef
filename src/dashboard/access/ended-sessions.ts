import type { Operator } from "#operator/audit.ts";
import type { OperatorSources } from "#operator/sources.ts";
import { sessionMs } from "./session-cookie.ts";

/** A session that was ended on one node is refused on all of them within so many milliseconds. */
const readEveryMs = 1_000;

/** The sessions whose users have logged out, from the audit log that all nodes share. */
export function endedSessions({ stores, clock }: Pick<OperatorSources, "stores" | "clock">) {
  const ids = new Set<string>();
  let readMs = Number.NEGATIVE_INFINITY;
  const read = async () => {
    const actions = await stores.actions();
    for (const id of await actions.targets("session_ended", clock.now() - sessionMs)) ids.add(id);
  };
  return {
    async has(id: string): Promise<boolean> {
      if (clock.monotonic() - readMs >= readEveryMs) {
        readMs = clock.monotonic();
        await read().catch(() => undefined); // without the database those that are known stay ended
      }
      return ids.has(id);
    },
    async end(id: string, operator: Operator): Promise<void> {
      ids.add(id);
      const actions = await stores.actions().catch(() => undefined);
      await actions?.add(operator, { action: "session_ended", target: id });
    },
  };
}
export type EndedSessions = ReturnType<typeof endedSessions>;
