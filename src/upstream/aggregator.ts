/** Whether a base URL is OpenRouter's: the aggregator whose price limit and price list are known. */
export function isOpenRouter(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === "openrouter.ai" || hostname.endsWith(".openrouter.ai");
}

/** `auto` means on where the aggregator is known to have it. */
export function isOn(choice: "auto" | "on" | "off", baseUrl: string): boolean {
  return choice === "auto" ? isOpenRouter(baseUrl) : choice === "on";
}
