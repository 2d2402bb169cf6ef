import { DIGIT_9 } from "#privacy/text/bytes.ts";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Whether `prefix_` + 30 characters end in six more that are the CRC-32 of the 30 in base 62, as GitHub and npm make them. */
export function crc32Base62(token: string): boolean {
  const body = token.slice(token.indexOf("_") + 1);
  if (body.length !== 36) return false;
  let rest = Bun.hash.crc32(body.slice(0, 30));
  let sum = "";
  for (let i = 0; i < 6; i++) {
    sum = base62.charAt(rest % 62) + sum;
    rest = Math.floor(rest / 62);
  }
  return sum === body.slice(30);
}

/** The check digit of payment cards and the like (ISO/IEC 7812-1): digits only. */
export function luhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let digit = digits.charCodeAt(digits.length - 1 - i) - 0x30;
    if (i % 2 === 1) {
      digit *= 2;
      if (digit > 9) digit -= 9;
    }
    sum += digit;
  }
  return digits.length > 0 && sum % 10 === 0;
}

/** The check of an IBAN (ISO 13616): remainder 1 by 97 once the first four characters are moved to the end. */
export function iban(compact: string): boolean {
  const moved = compact.slice(4) + compact.slice(0, 4);
  let remainder = 0;
  for (let i = 0; i < moved.length; i++) {
    const c = moved.charCodeAt(i);
    const value = c <= DIGIT_9 ? c - 0x30 : (c | 0x20) - 0x57;
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}
