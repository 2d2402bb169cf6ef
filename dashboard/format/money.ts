import { dollarText } from "#domain/money/dollar-text.ts";

/** How amounts of money are written on the page. All amounts are whole nano-US-dollars. */

const perUsd = 1_000_000_000;

/** As texts of the server have it. An amount that is not known (null) is a dash, which is not zero. */
export function money(nano: number | null | undefined): string {
  return nano === null || nano === undefined ? "–" : dollarText(nano);
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
