/**
 * Nano-USD as people read them, on the page, in sentences and in tables of commands: at most four significant digits, cents from a
 * dollar on, whole dollars from a hundred on. Something is never shown as `$0.00`.
 */
export function dollarText(nano: number): string {
  if (nano === 0) return "$0";
  const usd = Math.abs(nano) / 1_000_000_000;
  const rounded = Number(usd.toPrecision(4));
  const sign = nano < 0 ? "−" : "";
  if (rounded < 1) return `${sign}$${rounded.toFixed(9).replace(/(\.\d\d+?)0+$/, "$1")}`;
  if (rounded < 1_000) return `${sign}$${usd.toFixed(rounded < 100 ? 2 : 0)}`;
  // With a comma between thousands. Not by `Intl`, whose tables take 1 MB of a gateway that rests.
  return `${sign}$${rounded.toFixed(0).replace(/\B(?=(?:\d{3})+$)/g, ",")}`;
}
