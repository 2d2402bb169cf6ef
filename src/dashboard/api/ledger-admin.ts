import type { DashboardSources } from "#dashboard/sources.ts";
import type { HoldTotal } from "#ledger/admin/holds.ts";
import { ApiProblem } from "./handlers.ts";

/** Opens the ledger's administration. Rejects with an `ApiProblem` when its store does not answer. */
export async function openAdmin({ admin }: Pick<DashboardSources, "admin">) {
  try {
    return await admin();
  } catch {
    throw storeUnavailable();
  }
}

export function storeUnavailable(): ApiProblem {
  return new ApiProblem(503, "The budget store does not answer. Try again shortly.", "store_unavailable");
}

export function totalsOf(totals: readonly HoldTotal[]) {
  return totals.map(({ state, count, amount }) => ({ state, count, held_nano_usd: amount }));
}
