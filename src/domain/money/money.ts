/**
 * Money is whole nano-dollars (1 USD = 1_000_000_000), so that sums are exact and no cap is decided by a rounding
 * error. A JavaScript safe integer holds nine million dollars in this unit; anything larger is refused where it is
 * made.
 */
declare const unit: unique symbol;

/** An amount of money in whole nano-US-dollars, never negative. */
export type NanoUsd = number & { readonly [unit]: "nano-usd" };

/** Price of a million tokens, in nano-dollars: 0.14 USD per million = 140_000_000. */
export type NanoUsdPerMTok = number & { readonly [unit]: "nano-usd-per-mtok" };

const nanoPerUsd = 1_000_000_000;
const DIGIT_0 = 0x30;

/** Brands a whole, safe, non-negative number as money. Throws a RangeError for anything else, which is a defect. */
export function nanoUsd(value: number): NanoUsd {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an amount in nano-USD: ${value}`);
  return value as NanoUsd;
}

export const zeroUsd: NanoUsd = nanoUsd(0);

/** The largest amount, nine million dollars, above every cap: a policy's end at one million. Larger sums become this. */
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
 * Mostly the text need not be made: if the nearest whole number of nano-dollars, of at most 15 digits, converts to the
 * same float, it is that text, because two decimals of 15 digits are never the same float.
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

/**
 * Nano-USD as people read them, on the page, in sentences and in tables of commands: at most four significant digits,
 * cents from a dollar on, whole dollars from a hundred on. Something is never shown as `$0.00`.
 */
export function dollarText(nano: number): string {
  if (nano === 0) return "$0";
  const usd = Math.abs(nano) / 1_000_000_000;
  const rounded = Number(usd.toPrecision(4));
  const sign = nano < 0 ? "−" : "";
  if (rounded < 1) return `${sign}$${rounded.toFixed(9).replace(/(\.\d{2,8}?)0{1,7}$/, "$1")}`;
  if (rounded < 1_000) return `${sign}$${usd.toFixed(rounded < 100 ? 2 : 0)}`;
  // With a comma between thousands. Not by `Intl`, whose tables take 1 MB of a gateway that rests.
  return `${sign}$${rounded.toFixed(0).replace(/\B(?=(?:\d{3}){1,6}$)/g, ",")}`;
}

function safe(value: number): NanoUsd | undefined {
  return Number.isSafeInteger(value) ? (value as NanoUsd) : undefined;
}

/** The budget caps that apply to a request, in nano-USD; a soft cap is never above its hard cap. */
export interface Caps {
  readonly goalSoft: NanoUsd;
  readonly goalHard: NanoUsd;
  readonly daySoft: NanoUsd;
  readonly dayHard: NanoUsd;
}

/** The lower of two caps. */
export function lowerCap(a: NanoUsd, b: NanoUsd): NanoUsd {
  return a < b ? a : b;
}

/** What a request may cost above our prices, because of fields that the operator's policy lets through. */
export interface Surcharge {
  /** Of the whole call, on top of everything. */
  readonly fee: NanoUsd;
  /** What the price of tokens is multiplied with; at least 1. */
  readonly factor: number;
  /** The fields it comes from; names of the operator's policy, never a caller's text. */
  readonly fields: readonly string[];
}

/** `amount` with the surcharge, rounded up; too large a sum is `maxUsd`. */
export function withSurcharge(amount: NanoUsd, surcharge: Surcharge | undefined): NanoUsd {
  if (surcharge === undefined) return amount;
  const sum = Math.ceil(amount * surcharge.factor) + surcharge.fee;
  return sum < maxUsd ? nanoUsd(sum) : maxUsd;
}
