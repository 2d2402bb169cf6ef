/** What an operator has changed by way of the dashboard. Amounts are in nano-USD. */
export interface OperatorAction {
  readonly atMs: number;
  readonly operator: string;
  readonly action: "cap_set" | "hold_settled" | "hold_released" | "model_disabled" | "model_enabled" | "model_reset";
  /** The account, the hold or the model. */
  readonly target: string;
  /** In words: from what to what, and why. */
  readonly detail: string;
}

/** The audit log of operators. Kept in the database, so that it outlives log files. */
export interface OperatorActions {
  /** Resolves when it is durable; rejects when it cannot be. */
  add(action: OperatorAction): Promise<void>;
  /** The newest first. */
  list(limit: number): Promise<readonly OperatorAction[]>;
  close(): Promise<void>;
}
