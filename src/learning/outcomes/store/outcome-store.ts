import type { Outcome, OutcomeRecord } from "#learning/outcomes/outcomes.ts";

/**
 * Where outcome records are kept, those of all nodes together. A record that cannot be saved is lost without harm. All forms
 * pass `outcome-store.contract.ts`.
 */
export interface OutcomeStore {
  /** Adds records; replaces the signals of those that are there already. Reported outcomes are not touched. */
  save(records: readonly OutcomeRecord[]): Promise<void>;
  /** Writes the outcome that a caller reports, in place of an earlier report; false when there is no such decision. */
  recordOutcome(decisionId: string, outcome: Outcome, score: number | undefined): Promise<boolean>;
  /** Records from that moment on, the oldest first. Rows that another release wrote and this one cannot read are left out. */
  load(fromMs: number): Promise<readonly OutcomeRecord[]>;
  /** Deletes records from before that moment, and of the rest the oldest above so many. */
  prune(fromMs: number, rows: number): Promise<void>;
  close(): Promise<void>;
}
