/** The values of `range` in the page's URL; the first is the default. */
const rangeNames: readonly string[] = ["24h", "1h", "6h", "today", "7d", "30d"];

/**
 * A `Link` header that makes browsers preload the data of every view while the page's script is still loading. The URLs must be
 * those that the script fetches (`dashboard/app.tsx`); otherwise the browser would fetch twice.
 */
export function preloadLinks(search: URLSearchParams): string {
  return ["session", `summary?${rangeQuery(search)}`]
    .map((read) => `</dashboard/api/${read}>; rel=preload; as=fetch; crossorigin`)
    .join(", ");
}

function rangeQuery(search: URLSearchParams): string {
  const [from, to] = [wholeNumber(search.get("from_ms")), wholeNumber(search.get("to_ms"))];
  if (from !== undefined && to !== undefined && from < to) return `from_ms=${from}&to_ms=${to}`;
  const range = search.get("range") ?? "";
  return `range=${rangeNames.includes(range) ? range : rangeNames[0]}`;
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
