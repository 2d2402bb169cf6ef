import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

/** A kind of personal data: how it looks, and what has to be right about it. */
interface PersonalDataRule {
  readonly id: string;
  readonly pattern: RegExp;
  readonly isValid: (found: string, text: string, at: number) => boolean;
  readonly docs: string;
}

const always = () => true;
const digitsOf = (text: string) => text.replace(/\D/g, "");

/** All patterns are anchored at a digit, a letter or an `@` they cannot do without, and bounded. */
// biome-ignore format: one rule a line, so that the list reads as a table
const rules: readonly PersonalDataRule[] = [
  { id: "email_address", pattern: /(?<![\w.+%-])[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])/g, isValid: (found) => !/@(?:example\.(?:com|org|net)|[\w.-]*\.(?:png|jpe?g|svg|js|css))$/i.test(found), docs: "https://www.rfc-editor.org/rfc/rfc5322" },
  { id: "payment_card", pattern: /(?<![\d.\w-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\d\w-])|(?<![\d.\w-])3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?![\d\w-])/g, isValid: paymentCard, docs: "https://www.iso.org/standard/70484.html" },
  { id: "iban", pattern: /(?<![\w])[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,4})?(?![\w])/g, isValid: spacedIban, docs: "https://www.iso.org/standard/81090.html" },
  { id: "phone_number", pattern: /(?<![\w.+-])(?<!\d )(?:\+|00)[1-9]\d{0,2}[ ./-]?(?:\(0?\d{1,5}\)[ ./-]?)?\d{2,5}(?:[ ./-]?\d{2,5}){1,4}(?![\w-])|(?<![\w.-])(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4}(?![\w.-])/g, isValid: phoneNumber, docs: "https://www.itu.int/rec/T-REC-E.164" },
  { id: "us_social_security_number", pattern: /(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g, isValid: always, docs: "https://www.ssa.gov/employer/randomization.html" },
  { id: "uk_national_insurance_number", pattern: /(?<!\w)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)/g, isValid: always, docs: "https://www.gov.uk/hmrc-internal-manuals/national-insurance-manual/nim39110" },
  { id: "german_tax_id", pattern: /(?<![\w.-])[1-9]\d ?\d{3} ?\d{3} ?\d{3}(?![\w.-])/g, isValid: (found) => germanTaxId(digitsOf(found)), docs: "https://www.bzst.de/EN/Private_individuals/Tax_identification_number/tax_identification_number_node.html" },
  { id: "spanish_national_id", pattern: /(?<!\w)[XYZ]?\d{7,8}-?[A-HJ-NP-TV-Z](?!\w)/g, isValid: spanishId, docs: "https://www.interior.gob.es/opencms/es/servicios-al-ciudadano/tramites-y-gestiones/dni/calculo-del-digito-de-control-del-nif-nie/" },
  { id: "french_social_security_number", pattern: /(?<!\w)[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}(?!\w)/g, isValid: frenchId, docs: "https://www.service-public.fr/particuliers/vosdroits/F33078" },
  { id: "brazilian_cpf", pattern: /(?<![\w.])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\w)/g, isValid: always, docs: "https://www.gov.br/receitafederal/pt-br/assuntos/meu-cpf" },
  { id: "indian_aadhaar", pattern: /(?<![\w-])(?<!\d )[2-9]\d{3} \d{4} \d{4}(?![\w-]| \d)/g, isValid: always, docs: "https://uidai.gov.in/en/my-aadhaar/about-your-aadhaar.html" },
  { id: "ip_address", pattern: /(?<![\w.-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w-]|\.\d)|(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:){2,7}(?::?[0-9A-Fa-f]{1,4}){1,6}(?![\w:.])/g, isValid: (found) => !/^(?:127\.|0\.0\.0\.0|255\.255|10\.0\.0\.0$)/.test(found) && (found.includes(".") || ipv6(found)), docs: "https://www.rfc-editor.org/rfc/rfc4291" },
];

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
        if (!isValid(match[0], normalized.text, match.index)) continue;
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

/** The check of an IBAN (ISO 13616): remainder 1 by 97 once the first four characters are moved to the end, letters as 10 to 35. */
function iban(compact: string): boolean {
  const moved = compact.slice(4) + compact.slice(0, 4);
  return BigInt(moved.replace(/[A-Z]/g, (letter) => String(Number.parseInt(letter, 36)))) % 97n === 1n;
}
