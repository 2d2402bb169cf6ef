/** The ranges that an address may name; without one the page shows the first. */
const named: readonly string[] = ["24h", "1h", "6h", "today", "7d", "30d"];

/**
 * A `Link` header by which browsers read what every view begins with while the page's script is still loaded and started. The
 * addresses are those that the script asks for (`dashboard/app.tsx`): with any other the browser would read twice.
 */
export function earlyReads(search: URLSearchParams): string {
  return ["session", `summary?${rangeQuery(search)}`]
    .map((read) => `</dashboard/api/${read}>; rel=preload; as=fetch; crossorigin`)
    .join(", ");
}

function rangeQuery(search: URLSearchParams): string {
  const [from, to] = [wholeNumber(search.get("from_ms")), wholeNumber(search.get("to_ms"))];
  if (from !== undefined && to !== undefined && from < to) return `from_ms=${from}&to_ms=${to}`;
  const range = search.get("range") ?? "";
  return `range=${named.includes(range) ? range : named[0]}`;
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
