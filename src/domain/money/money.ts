/**
 * Money is whole nano-dollars (1 USD = 1_000_000_000), so that sums are exact and no cap is decided by a rounding error.
 * A JavaScript safe integer holds nine million dollars in this unit; anything larger is refused where it is made.
 */
declare const unit: unique symbol;

/** An amount of money in whole nano-US-dollars, never negative. */
export type NanoUsd = number & { readonly [unit]: "nano-usd" };

/** Price of a million tokens, in nano-dollars: 0.14 USD per million = 140_000_000. */
export type NanoUsdPerMTok = number & { readonly [unit]: "nano-usd-per-mtok" };

const nanoPerUsd = 1_000_000_000;
const DIGIT_0 = 0x30;

/** Brands a whole, safe, non-negative number as money. Throws a RangeError for anything else: that is a defect, not input. */
export function nanoUsd(value: number): NanoUsd {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an amount in nano-USD: ${value}`);
  return value as NanoUsd;
}

export const zeroUsd: NanoUsd = nanoUsd(0);

/** The largest amount, about nine million dollars, and so above every cap: a policy's caps end at one million. Larger sums become this. */
export const maxUsd: NanoUsd = nanoUsd(Number.MAX_SAFE_INTEGER);

/** A sum of amounts, each of them whole and not negative, that never throws: above `maxUsd` it is `maxUsd`. */
export function saturatedUsd(sum: number): NanoUsd {
  return sum < maxUsd ? nanoUsd(sum) : maxUsd;
}

const decimal = /^\+?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * Decimal text in US dollars to whole nano-dollars, digit by digit, without passing through a float. A fraction of a
 * nano-dollar is rounded as named, because a cost must never come out below the invoice and a cap never above the text.
 * Returns undefined for text that is no finite, non-negative decimal number or that is too large to hold.
 */
export function parseUsd(text: string, rounding: "up" | "down" = "up"): NanoUsd | undefined {
  const match = decimal.exec(text.trim());
  if (match === null) return undefined;
  const [, whole = "", fraction = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return undefined;
  const digits = whole + fraction;
  // The decimal point is `scale` digits from the right end once the amount is counted in nano-dollars.
  const scale = fraction.length - Number(exponent) - 9;
  if (scale <= 0) {
    if (/^0*$/.test(digits)) return zeroUsd;
    if (digits.replace(/^0+/, "").length - scale > 16) return undefined;
    return safe(Number(digits + "0".repeat(-scale)));
  }
  const kept = digits.length > scale ? digits.slice(0, digits.length - scale) : "0";
  const dropped = digits.length > scale ? digits.slice(digits.length - scale) : digits;
  if (kept.replace(/^0+/, "").length > 16) return undefined;
  const roundUp = rounding === "up" && /[1-9]/.test(dropped) ? 1 : 0;
  return safe(Number(kept) + roundUp);
}

/**
 * A number in US dollars (as YAML and JSON give it) to nano-dollars, by way of its shortest decimal text.
 *
 * Mostly the text need not be made: if the nearest whole number of nano-dollars, of at most 15 digits, converts to the same
 * float, it is that text, because two decimals of 15 digits are never the same float.
 */
export function usdToNano(usd: number, rounding: "up" | "down" = "up"): NanoUsd | undefined {
  const nearest = Math.round(usd * nanoPerUsd);
  if (nearest > 0 && nearest < 1e15 && nearest / nanoPerUsd === usd) return safe(nearest);
  return Number.isFinite(usd) && usd >= 0 ? parseUsd(String(usd), rounding) : undefined;
}

/** Nano-dollars as decimal text in US dollars, exact, without trailing zeros: 1_500_000 is "0.0015". */
export function formatUsd(amount: number): string {
  const sign = amount < 0 ? "-" : "";
  const absolute = Math.abs(amount);
  const whole = Math.floor(absolute / nanoPerUsd);
  // With a one in front, so that its zeros are kept.
  const digits = String(nanoPerUsd + (absolute % nanoPerUsd));
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === DIGIT_0) end--;
  return sign + (end === 1 ? String(whole) : `${whole}.${digits.slice(1, end)}`);
}

function safe(value: number): NanoUsd | undefined {
  return Number.isSafeInteger(value) ? (value as NanoUsd) : undefined;
}
