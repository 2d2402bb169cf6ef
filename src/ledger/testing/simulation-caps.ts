import { nanoUsd } from "#domain/money/money.ts";

/** The hard caps of every goal and every day in a simulation. */
export const goalCap = nanoUsd(1_000);
export const dayCap = nanoUsd(2_400);
