import type { NanoUsd } from "./money.ts";

/** The budget caps that apply to a request, in nano-USD; a soft cap is never above its hard cap. */
export interface Caps {
  readonly goalSoft: NanoUsd;
  readonly goalHard: NanoUsd;
  readonly daySoft: NanoUsd;
  readonly dayHard: NanoUsd;
}

/** The lower of two caps. */
export function lowerCap(a: NanoUsd, b: NanoUsd): NanoUsd {
  return a < b ? a : b;
}
