/** Whether a base URL is OpenRouter's: the aggregator whose price limit and price list are known. */
function isOpenRouter(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === "openrouter.ai" || hostname.endsWith(".openrouter.ai");
}

/** `auto` means on where the aggregator is known to have it. Without a base URL (demo mode) only `on` does. */
export function isEnabled(choice: "auto" | "on" | "off", baseUrl: string | undefined): boolean {
  return choice === "auto" ? baseUrl !== undefined && isOpenRouter(baseUrl) : choice === "on";
}

/** Names the aggregator in the price book. The simulator's port is another at each start, and its prices are the registry's. */
export function priceSourceOf(
  upstream: { readonly kind: "demo" } | { readonly kind: "aggregator"; readonly baseUrl: string },
) {
  return upstream.kind === "demo" ? "simulator" : upstream.baseUrl;
}
