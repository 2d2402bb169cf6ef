import { nanoUsd } from "#domain/money/money.ts";

/** Hard caps of every goal and every day of a simulation. */
export const goalCap = nanoUsd(1_000);
export const dayCap = nanoUsd(2_400);
