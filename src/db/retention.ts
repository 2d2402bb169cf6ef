/** Values in SQL: literals or placeholders. */
export interface RetentionValues {
  /** Rows from before this moment are deleted. */
  readonly from: string;
  /** The number of rows to keep, the newest. */
  readonly rows: string;
}

/**
 * The statement that deletes the rows of a table from before a moment, and of the rest the oldest above so many.
 * @param column holds the moment of a row
 * @param only a condition: other rows neither count nor are deleted
 */
export function deleteBeyondRetention(
  table: string,
  column: string,
  { from, rows }: RetentionValues,
  only = "",
): string {
  const [and, where] = only === "" ? ["", ""] : [`${only} AND `, `WHERE ${only} `];
  return `DELETE FROM ${table} WHERE ${and}(${column} < ${from} OR ${column} <=
    (SELECT ${column} FROM ${table} ${where}ORDER BY ${column} DESC LIMIT 1 OFFSET ${rows}))`;
}
