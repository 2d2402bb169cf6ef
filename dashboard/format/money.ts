/** How amounts of money are written on the page. All amounts are whole nano-US-dollars. */

const perUsd = 1_000_000_000;
const perCent = 10_000_000;
const grouped = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/**
 * `$12.40` from a dollar on, `$0.0296` from a cent on, four significant digits below: something is never shown as `$0.00`.
 * An amount that is not known (null) is a dash, which is not zero.
 */
export function money(nano: number | null | undefined): string {
  if (nano === null || nano === undefined) return "–";
  if (nano === 0) return "$0";
  const sign = nano < 0 ? "−" : "";
  const amount = Math.abs(nano);
  if (amount >= perUsd - 50_000) return `${sign}$${grouped.format(amount / perUsd)}`;
  if (amount >= perCent) return `${sign}$${trimmed((amount / perUsd).toFixed(4), 2)}`;
  const digits = Math.floor(Math.log10(amount)) + 1;
  const unit = 10 ** Math.max(0, digits - 4);
  return `${sign}$${trimmed(((Math.round(amount / unit) * unit) / perUsd).toFixed(9), 4)}`;
}

/** Every digit of an amount, for titles and copies: `0.004123456 USD`. */
export function exactMoney(nano: number): string {
  const amount = Math.abs(nano);
  const fraction = String(amount % perUsd)
    .padStart(9, "0")
    .replace(/0+$/, "");
  const whole = String(Math.floor(amount / perUsd));
  return `${nano < 0 ? "−" : ""}${whole}${fraction === "" ? "" : `.${fraction}`} USD`;
}

/** The amount that a person typed, in nano-US-dollars, rounded down; undefined when it is not one. */
export function parseMoney(text: string): number | undefined {
  const match = /^\$?(\d{1,7})(?:\.(\d{0,9}))?$/.exec(text.trim().replaceAll(",", ""));
  if (match === null) return undefined;
  const [, whole = "0", fraction = ""] = match;
  const nano = Number(whole) * perUsd + Number(fraction.padEnd(9, "0"));
  return Number.isSafeInteger(nano) ? nano : undefined;
}

/** Without trailing zeros, but with at least `least` digits behind the point. */
function trimmed(text: string, least: number): string {
  const [whole = "0", fraction = ""] = text.split(".");
  const kept = fraction.replace(/0+$/, "").padEnd(least, "0");
  return `${whole}.${kept}`;
}
