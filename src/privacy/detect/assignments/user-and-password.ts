import { isPassword } from "#privacy/detect/values/values.ts";
import { LOWER_A, LOWER_C, LOWER_L, LOWER_Z } from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { KeyReference } from "./key-reference.ts";
import { type CandidateValue, readGroup } from "./value-reader.ts";

const userPasswordPair =
  /["']?\s{0,3}[=:]?\s{0,3}[([]\s{0,3}["'][^"'\n]{1,64}["']\s{0,3}[,:]\s{0,3}["']([^"'\n]{3,128})["']/y;
const userThenPassword =
  /(?:\s\([^)\n]{1,40}\))?[ \t]{0,2}(?:[:=]|are|is|with|as)[ \t]{1,2}["'`]?[\w.@+-]{2,64}["'`]?[ \t]{0,2}[/:,|][ \t]{0,2}["'`]?([^\s"'`]{6,128})/y;
/** `login=user:password`, `creds: "user:password"`. */
const userColonPassword = /["'`]?(?:[ \t]{0,2}[:=][ \t]{0,2}|[ \t])["'`]?[\w.@+-]{2,64}:([^\s"'`:/]{6,128})/y;

/** User and password together: `auth=("user", "…")`, `credentials: user / …`. */
export function passwordAfterUser(
  normalized: NormalizedText,
  key: KeyReference,
  keywordAt: number,
): CandidateValue | undefined {
  if (!namesPair(normalized.bytes, keywordAt)) return undefined;
  const { text } = normalized;
  const { to, text: name } = key;
  let value: CandidateValue | undefined;
  if (/auth(?!or(?!iz))|cred|login|daten/i.test(name)) {
    value = readGroup(userPasswordPair, text, to);
    if (value === undefined && /(?:^|[_.-])(?:credentials?|creds|log-?in|auth|userpwd)$/i.test(name)) {
      value = readGroup(userColonPassword, text, to);
      if (value !== undefined && !isMixed(value.text)) value = undefined;
    }
    if (value === undefined && /^(?:credentials?|creds|log-?in|auth|zugangsdaten|anmeldedaten)$/i.test(name)) {
      const written = readGroup(userThenPassword, text, to);
      value = written === undefined ? undefined : { ...written, notation: "prose" };
    }
  }
  return value !== undefined && isPassword(value.text, value.notation) ? value : undefined;
}

/** Letters and at least two digits. */
export function isMixed(value: string): boolean {
  return /\d.*\d/.test(value) && /[A-Za-z]/.test(value);
}

/** Whether a key word can name user and password together: auth, credentials, login, Zugangsdaten. */
export function namesPair(bytes: Uint8Array, keywordAt: number): boolean {
  const first = (bytes[keywordAt] ?? 0) | 0x20;
  return first === LOWER_A || first === LOWER_C || first === LOWER_L || first === LOWER_Z;
}
