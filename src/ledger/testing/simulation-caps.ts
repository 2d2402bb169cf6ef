import { nanoUsd } from "#domain/money/money.ts";

/** The hard caps of every goal, every day and every capped key in a simulation. */
export const goalCap = nanoUsd(1_000);
export const dayCap = nanoUsd(2_400);
export const keyCap = nanoUsd(1_500);
