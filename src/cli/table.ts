/** Rows as aligned columns for a terminal; a column whose cells all look like numbers is aligned to the right. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const numeric = head.map((_, column) => rows.every((row) => /^[\d.,%$-]*$/.test(row[column] ?? "")));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return numeric[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [head, ...rows].map(line).join("\n");
}
