const perUsd = 1_000_000_000;
const perCent = 10_000_000;

/**
 * Nano-USD as people read them, on the page, in sentences and in tables of commands: `$12.40` from a dollar on, `$0.0296` from a
 * cent on, four significant digits below. Something is never shown as `$0.00`.
 */
export function dollarText(nano: number): string {
  if (nano === 0) return "$0";
  const sign = nano < 0 ? "−" : "";
  const amount = Math.abs(nano);
  if (amount >= perUsd - 50_000) return `${sign}$${grouped((amount / perUsd).toFixed(2))}`;
  if (amount >= perCent) return `${sign}$${trimmed((amount / perUsd).toFixed(4), 2)}`;
  const digits = Math.floor(Math.log10(amount)) + 1;
  const unit = 10 ** Math.max(0, digits - 4);
  return `${sign}$${trimmed(((Math.round(amount / unit) * unit) / perUsd).toFixed(9), 4)}`;
}

/** With a comma between thousands. Not by `Intl`, whose tables take 1 MB of a gateway that rests. */
function grouped(text: string): string {
  return text.replace(/\B(?=(?:\d{3})+\.)/g, ",");
}

/** Without trailing zeros, but with at least `least` digits behind the point. */
function trimmed(text: string, least: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  const kept = fraction.replace(/0+$/, "").padEnd(least, "0");
  return `${whole}.${kept}`;
}
