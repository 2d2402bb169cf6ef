import { maxUsd, type NanoUsd, nanoUsd } from "./money.ts";

/** What a request may cost above our prices, because of fields that the operator's policy lets through. */
export interface Surcharge {
  /** Of the whole call, on top of everything. */
  readonly fee: NanoUsd;
  /** What the price of tokens is multiplied with; at least 1. */
  readonly factor: number;
  /** The fields it comes from; names of the operator's policy, never a caller's text. */
  readonly fields: readonly string[];
}

/** `amount` with the surcharge, rounded up; too large a sum is `maxUsd`. */
export function withSurcharge(amount: NanoUsd, surcharge: Surcharge | undefined): NanoUsd {
  if (surcharge === undefined) return amount;
  const sum = Math.ceil(amount * surcharge.factor) + surcharge.fee;
  return sum < maxUsd ? nanoUsd(sum) : maxUsd;
}
