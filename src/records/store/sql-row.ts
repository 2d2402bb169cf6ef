/** A row as the database gives it: a bigint may be text. */
export type SqlRow = Record<string, unknown>;
