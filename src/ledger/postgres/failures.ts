/** What an SQLSTATE means for a batch. */

/** The server takes no writes. */
export const readOnlyState = "25006";

/** 22: bad data, also the division by zero of a row count that is not as expected. 23: a constraint. */
export function isUnexpectedRow(state: string | undefined): boolean {
  return state?.startsWith("22") === true || state?.startsWith("23") === true;
}

/** No such table, schema or database, though they were there when the node joined. */
export function isMissingSchema(state: string | undefined): boolean {
  return state === "42P01" || state === "3F000" || state === "3D000";
}
