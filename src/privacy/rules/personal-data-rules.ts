import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import rows from "./personal-data.jsonl" with { type: "text" };
import { readTable } from "./tables.ts";

/** How a kind of personal data looks: a bounded pattern with a digit, a letter or an `@` that it cannot do without. */
interface PersonalDataRule {
  readonly id: string;
  readonly pattern: string;
  readonly docs: string;
}

const digitsOf = (text: string) => text.replace(/\D/g, "");
/** What has to be right about it, beside its looks. */
const checks: Readonly<Record<string, (found: string) => boolean>> = {
  email_address: (found) => !/@(?:example\.(?:com|org|net)|[\w.-]*\.(?:png|jpe?g|svg|js|css))$/i.test(found),
  payment_card: paymentCard,
  iban: spacedIban,
  phone_number: phoneNumber,
  german_tax_id: (found) => germanTaxId(digitsOf(found)),
  spanish_national_id: spanishId,
  french_social_security_number: frenchId,
  ip_address: (found) =>
    !/^(?:127\.|0\.0\.0\.0|255\.255|10\.0\.0\.0$)/.test(found) && (found.includes(".") || ipv6(found)),
};
const rules = readTable<PersonalDataRule>(rows).map(({ id, pattern }) => ({
  id,
  pattern: new RegExp(pattern, "g"),
  isValid: checks[id] ?? (() => true),
}));

/** All personal data holds one. */
const holdsDigitOrAt = /[0-9@]/;

/** Finds personal data. Slower than the search for credentials, and only done where the policy asks for it. */
export function personalDataRules(disabled: ReadonlySet<string>): (normalized: NormalizedText, found: Span[]) => void {
  const active = rules.filter(({ id }) => !disabled.has(id));
  return (normalized, found) => {
    if (!holdsDigitOrAt.test(normalized.text)) return;
    for (const { id, pattern, isValid } of active) {
      pattern.lastIndex = 0;
      for (let match = pattern.exec(normalized.text); match !== null; match = pattern.exec(normalized.text)) {
        if (!isValid(match[0])) continue;
        found.push({ start: match.index, end: match.index + match[0].length, rule: id });
      }
    }
  };
}

function paymentCard(found: string): boolean {
  const digits = digitsOf(found);
  return digits.length >= 13 && digits.length <= 19 && luhn(digits) && !/^(\d)\1+$/.test(digits);
}

function spacedIban(found: string): boolean {
  const compact = found.replaceAll(" ", "");
  return compact.length >= 15 && compact.length <= 34 && iban(compact);
}

function phoneNumber(found: string): boolean {
  const digits = digitsOf(found);
  return digits.length >= 8 && digits.length <= 15;
}

function germanTaxId(digits: string): boolean {
  let product = 10;
  for (let i = 0; i < 10; i++) {
    const sum = (Number(digits[i]) + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return new Set(digits.slice(0, 10)).size < 10 && (11 - product) % 10 === Number(digits[10]);
}

function spanishId(found: string): boolean {
  const compact = found.replace("-", "");
  const number = compact.slice(0, -1).replace("X", "0").replace("Y", "1").replace("Z", "2");
  return number.length === 8 && "TRWAGMYFPDXBNJZSQVHLCKE".charAt(Number(number) % 23) === compact.slice(-1);
}

function frenchId(found: string): boolean {
  const compact = found.replaceAll(" ", "");
  const number = BigInt(compact.slice(0, 13).replace("2A", "19").replace("2B", "18"));
  return 97n - (number % 97n) === BigInt(compact.slice(13));
}

function ipv6(found: string): boolean {
  const groups = found.split(":");
  const double = found.split("::").length - 1;
  // `12:34:56` is a time of day.
  return (double === 1 ? groups.length <= 8 : double === 0 && groups.length === 8) && found !== "::1";
}

/** The check digit of payment cards and the like (ISO/IEC 7812-1): digits only. */
function luhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (1 + (at % 2));
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** The check of an IBAN (ISO 13616): remainder 1 by 97, with the first four characters last, letters as 10 to 35. */
function iban(compact: string): boolean {
  const moved = compact.slice(4) + compact.slice(0, 4);
  return BigInt(moved.replace(/[A-Z]/g, (letter) => String(Number.parseInt(letter, 36)))) % 97n === 1n;
}
