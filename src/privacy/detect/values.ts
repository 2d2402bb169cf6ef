import { formatSpecifiers, isKept, isTemplate, isUniform, type Notation } from "./kept-values.ts";
import { isIdentifier, isIdentifierShaped, isRandom, shapeOf, type TextShape } from "./randomness.ts";

export const uuid = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const hexText = /^(?:0x)?[0-9a-f]+$/i;

const wordWithMark = /^(?:[A-Z\xb3\xc0-\xff][A-Za-z\xb3\xc0-\xff]+[!?*:.,]{0,3}|[a-z\xb3\xc0-\xff]+[?*:.,]{0,3})$/;

/** Whether a value beside a word for `password` is one. */
export function isPassword(value: string, writing: Notation): boolean {
  if (value.length < (writing === "prose" ? 6 : 4) || value.length > 256) return false;
  const shape = shapeOf(value);
  const { digits, upper, lower, others, bigramScore, bigrams } = shape;
  const letters = upper + lower;
  // The cheap question first: nearly every value beside such a name is a word of the program.
  if (letters === value.length && (upper === 0 ? bigramScore >= -0.9 : bigramScore >= 0.2)) return false;
  if (isKept(value, shape, writing) || /\s/.test(value)) return false;
  if (letters === 0) return others === 0 ? digits >= 6 : digits > 0 && strongSymbols(value) > 0 && value.length >= 6;
  // A label of a form in some language.
  if (digits === 0 && wordWithMark.test(value) && (bigramScore > 0 || others > 1)) return false;
  const strong = strongSymbols(value);
  const mentions = /pass(?:word|wd|phrase)|secret|token|user|credential/i.test(value);
  if (digits > 0) {
    if (mentions) return strong > 0 || (digits >= 2 && (writing === "quoted" || !value.includes("_")));
    if (writing === "quoted" || strong > 0) return value.length >= 5;
    if (value.length < 6) return false;
    // `TestRejectsOauth2Token`: a name of a program.
    if (value.length >= 20 && digits * 8 < value.length && /^\w+$/.test(value) && isIdentifierShaped(value, shape))
      return false;
    // `arg1`, `sha256sum`, `utf8mb4`, `step-2`: words with a number, in a place where code or a sentence may stand.
    if (writing === "prose")
      return (
        isRandom(shape) ||
        (upper > 0 && lower > 0 && others > 0 && value.length >= 8 && !value.includes("/")) ||
        (digits >= 2 && value.length >= 8 && !/^\d+(?:st|nd|rd|th|px|ms|kb|mb|gb|s|m|h|d|x|%)?$/i.test(value)) ||
        /^[a-z]{4,}\d$/i.test(value) ||
        (value.length >= 10 && value.split(/[_.-]/).some(isRandomWord))
      );
    return true;
  }
  if (mentions) return false;
  if (strong > 0) return value.length >= 6 && (writing === "quoted" || !/[(){}[\]]|=>|&&|\|\|/.test(value));
  // Words of all languages stand in sentences.
  if (writing === "prose" && /^[A-Za-z][a-z]+$/.test(value)) return false;
  if (bigrams < 3) return upper > 0 && lower > 0 && value.length >= 8;
  if (upper > 0 && lower > 0)
    return value.length >= 8 && (bigramScore < -0.4 || (shape.classChanges * 3 >= value.length && bigramScore < 0.2));
  return value.length >= 8 && bigramScore < -0.9;
}

/** `e8hbyh` in `velvet_e8hbyh`. */
function isRandomWord(part: string): boolean {
  return part.length >= 6 && /[a-z]\d+[a-z]{2}/i.test(part) && shapeOf(part).bigramScore < -0.3;
}

/** Characters that occur in passwords but hardly in names, paths or sentences. */
function strongSymbols(value: string): number {
  let count = 0;
  for (let i = 0; i < value.length - 1; i++) if ("!@#$%^&*?~+=|;<>".includes(value.charAt(i))) count++;
  return count + (/[!#$%^&*~+=|]$/.test(value) ? 1 : 0);
}

/** A character that base64, hex, JSON Web Tokens, percent-encoding and escaped line ends do not have. */
const notEncoded = /[^\w+/=.:~%\\-]/;

/** Whether a value beside a word for `secret`, `token` or `API key` is one. */
export function isSecret(value: string, writing: Notation): boolean {
  if (value.length < 8 || value.length > 4_096) return false;
  if (uuid.test(value)) return !isUniform(value.replaceAll("-", ""));
  const shape = shapeOf(value);
  // The cheap questions first: nearly every value beside such a name is a word of the program.
  const random = isRandom(shape);
  const isLikeKey = shape.digits >= 4 && keyShape.test(value);
  if (!random && (shape.digits === 0 || shape.others === 0) && !hexText.test(value) && !isLikeKey) return false;
  if (/\s/.test(value)) return writing === "quoted" && isSalt(value, shape);
  if (isKept(value, shape, writing)) return false;
  if (hexText.test(value)) return shape.digits > 0 && value.length >= 12 && shape.digits < value.length;
  // The tables of a generated parser (`tokenData: "…"`): so long a key is written in an alphabet of an encoding.
  if (value.length > 512 && notEncoded.test(value)) return false;
  if (/[()[\]{}<>,"'`]/.test(value) && writing !== "quoted") return false;
  if (isLikeKey && isMadeUpKey(value, shape)) return true;
  if (
    isIdentifierShaped(value.replace(/(?<![,;:)\]}])[,;:)\]}]+$/, ""), shape) ||
    isTemplate(value, formatSpecifiers, "%")
  )
    return false;
  const strong = strongSymbols(value.replace(/[+=/]/g, ""));
  if (shape.digits > 0 && strong > 0 && shape.upper + shape.lower > 2) return true;
  return random && (value.length >= 16 || shape.digits >= 2);
}

/** What a key looks like that somebody made up: `test1234567890`, `abcdefghijklmnopqrstuvwxyz123456`. */
const keyShape = /^[A-Za-z0-9][A-Za-z0-9_-]{10,126}[A-Za-z0-9]$/;

/** With digits enough; where the rest is the name of something, five of them at its end. */
function isMadeUpKey(value: string, { digits, upper, lower, others }: TextShape): boolean {
  return digits >= (others > 0 ? 5 : 4) && upper + lower >= 2 && (/\d{5}$/.test(value) || !isIdentifier(value));
}

/** WordPress draws its salts from all printable characters, blanks too. */
function isSalt(value: string, { length, digits, upper, lower, classChanges }: TextShape): boolean {
  return (
    length >= 48 &&
    value.replace(/[\w\s+/=@.,:-]/g, "").length >= 6 &&
    digits >= 3 &&
    upper >= 3 &&
    lower >= 3 &&
    classChanges * 6 >= length
  );
}

/** Whether a value beside a name that may mean anything is a secret all the same. */
export function isCertainSecret(value: string, writing: Notation): boolean {
  return isSecret(value, writing) && isRandomSecret(value, writing);
}

/** Whether a value that may be a secret leaves no doubt, whatever its name. */
export function isRandomSecret(value: string, writing: Notation): boolean {
  if (value.length < 20 || uuid.test(value)) return false;
  if (hexText.test(value)) return writing === "prose" && value.length >= 32;
  const { upper, lower, digits } = shapeOf(value);
  return digits >= 2 && (writing === "prose" || (upper >= 2 && lower >= 2));
}

const oneCase = /^(?:[a-z0-9]{28,128}|[A-Z0-9]{28,128})$/;

/** Whether a value is letters of one case and digits in a drawn row, and no hash in hex: as many vendors draw keys. */
export function isDrawnInOneCase(value: string): boolean {
  if (!oneCase.test(value) || hexText.test(value)) return false;
  const shape = shapeOf(value);
  return shape.digits * 8 >= shape.length && shape.classChanges * 4 >= shape.length && isRandom(shape);
}
