/** Limits that the rules and every store share. */

/** An aggregator's record of a call appears some seconds after it. */
export const firstLookupMs = 3_000;
/** How often a call is asked about: with a pause of 5 s that doubles, for some five minutes. */
export const maxLookups = 7;
/** Pause after the first claim, in milliseconds; each further claim doubles it. */
export const lookupPauseMs = 5_000;
/** A lookup that nobody has claimed for this long (lookups are off, or no gateway ran) is deleted. */
export const staleLookupMs = 86_400_000;
/** Lookups kept at most; beyond that, those that are due first are deleted first. */
export const maxKeptLookups = 10_000;

/** A hold expires this long after the deadline of its attempt. */
export const expiryGraceMs = 60_000;
/** A node whose last heartbeat is older than this counts as dead. */
export const nodeTimeoutMs = 60_000;
/**
 * A node whose last heartbeat is older than this has missed two: its holds are not taken over yet, but nobody is told to wait
 * for their calls.
 */
export const nodeSuspectMs = 12_000;
