import type { NanoUsd } from "#domain/money/money.ts";
import type { ReservationId } from "#ledger/ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import type { LedgerAdmin } from "./ledger-admin.ts";

/** What an operator says of a call: what it has cost, or that it was not billed. */
export type HoldEnding = { readonly kind: "settled"; readonly actual: NanoUsd } | { readonly kind: "released" };

/** What became of a hold that an operator ended; `running` and `not_found`: nothing was done. */
export interface ClosedHold {
  readonly id: ReservationId;
  readonly result: "settled" | "released" | "corrected" | "unchanged" | "running" | "not_found";
  readonly held_nano_usd?: number;
  readonly charged_nano_usd?: number;
  /** Why nothing changed. */
  readonly detail?: string;
  /** For the decision record of the call. */
  readonly notice?: LedgerNotice & { readonly kind: "resolved" };
}

interface Operator {
  /** Whose batch of the ledger it is. */
  readonly name: string;
  /** Stored in the entry: who says so, and why. */
  readonly reason: string;
  /** Also ends the hold of a call that may still be running. */
  readonly force?: boolean | undefined;
}

/** Ends one hold in an operator's name, by the same rules as a gateway. */
export async function closeHold(
  admin: LedgerAdmin,
  id: ReservationId,
  ending: HoldEnding,
  { name, reason, force = false }: Operator,
): Promise<ClosedHold> {
  const [hold] = (await admin.holds({ limit: 1, charged: true, ids: [id] })).holds;
  if (hold === undefined) return { id, result: "not_found", detail: "Nothing is held under this id." };
  const held_nano_usd = hold.amount;
  if (hold.state === "live" && !force) {
    const detail = `Its call may still run on ${hold.node}, and ends its hold itself. \`budgets settle --force\` closes it all the same.`;
    return { id, result: "running", held_nano_usd, detail };
  }
  const notices = await admin.resolve(name.slice(0, 60), [{ ...ending, id, source: "operator", reason }]);
  const notice = notices.find((one) => one.kind === "resolved");
  if (notice === undefined) {
    const detail = notices.find((one) => one.kind === "ignored")?.why ?? "it was closed meanwhile";
    return { id, result: "unchanged", held_nano_usd, detail };
  }
  const result = notice.state === "RELEASED" ? "released" : notice.state === "CORRECTED" ? "corrected" : "settled";
  return { id, result, held_nano_usd, charged_nano_usd: notice.charged, notice };
}
