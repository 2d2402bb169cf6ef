import type { LedgerStatus } from "#ledger/ledger.ts";
import type { LedgerNotice } from "#ledger/rules/operations.ts";
import type { UtcDay } from "#platform/time.ts";

/** What the ledger reports beside its replies; for the log, metrics and records. */
export type LedgerEvent =
  | LedgerNotice
  /** The store cannot be reached at the start of the process, which waits for it. */
  | { readonly kind: "store_awaited"; readonly message: string; readonly withinMs: number }
  /** The store stopped answering; admission is closed until `store_available`. */
  | { readonly kind: "store_unavailable"; readonly message: string }
  | { readonly kind: "store_available"; readonly unavailableMs: number }
  /** The store cannot be trusted any more: nothing is admitted until the process is restarted. */
  | {
      readonly kind: "store_failed";
      readonly message: string;
      readonly failed: NonNullable<LedgerStatus["failed"]>;
    }
  /** No node has ever used this store. `expected`: it should have been used before. */
  | { readonly kind: "store_empty"; readonly expected: boolean }
  /** The newest day in the ledger is ahead of the clock: until then all spending counts to it. */
  | { readonly kind: "day_ahead"; readonly day: UtcDay; readonly today: UtcDay }
  /** Resolutions that could not be kept or written: their holds expire and are charged. */
  | { readonly kind: "resolutions_dropped"; readonly count: number; readonly message: string }
  /** This node has taken over the holds of dead nodes: how many may have been billed, and how much money they hold. */
  | {
      readonly kind: "taken_over";
      readonly nodes: readonly string[];
      readonly unresolved: number;
      readonly unresolvedNanoUsd: number;
      /** Never dispatched, so released. */
      readonly released: number;
    }
  | { readonly kind: "pruned"; readonly reservations: number };
