import formRows from "#privacy/rules/kept-forms.jsonl" with { type: "text" };
import { readTable, wordList } from "#privacy/rules/tables.ts";
import { isKeyName } from "./key-names.ts";
import { isDummyValue, isIdentifier, isRandom, shapeOf, type TextShape } from "./randomness.ts";

/** How a value was written, which says how much of it can be code or a sentence. */
export type Notation =
  /** Between quotes, in a tag, a table cell or after a command-line option. */
  | "quoted"
  /** Up to the next white space, as in `.env` and YAML files; may be code. */
  | "bare"
  /** A word of a sentence. */
  | "prose";

/** What stands beside the name of a secret and is none. `docs/reference/credentials.md` shows the table. */
interface KeptForm {
  readonly form: string;
  readonly kept: string;
  /** A value that looks alike, and is replaced. */
  readonly replaced: string;
  /** Only where the value is not quoted: between quotes it would be a secret. */
  readonly unquoted?: true;
  readonly pattern: string;
  readonly anyCase?: true;
}

const dotted = "[A-Za-z_$@][\\w$]{0,60}(?:(?:\\.|::|->|\\?\\.)[A-Za-z_$][\\w$]{0,60}){0,8}";
export const keptForms = readTable<KeptForm>(formRows);
const forms = keptForms.map(({ pattern, anyCase, unquoted = false }) => ({
  pattern: new RegExp(pattern, anyCase === true ? "i" : ""),
  unquoted,
}));

const commonWords = wordList("commonWords");
const expression = new RegExp(`^${dotted}$`);
const callOrIndex = new RegExp(`^${dotted}(?:\\?\\.|!)?[([]`);
const path = /^(?:\.{0,2}\/|~\/|[A-Za-z]:\\|[a-z0-9_-]{2,}\/[a-z0-9_-]+\/)[\w./ ?=&%-]*$/i;
const algorithmParts = wordList("algorithmParts");
/** `prime256v1`, `secp384r1`: curves, by the names that programs give them; `PBKDF2WithHmacSHA256`. */
const namedAlgorithm = /^(?:prime|sec[pt]|brainpoolP|wtls|c2[pt]nb)\d{3}[a-z]\d{1,2}$|^PB(?:KDF2|E)With\w{4,40}$/i;
/** Names of settings and of environment variables: `OVHCLOUD_API_KEY`. */
const constant = /^[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20}){1,8}(?:\$\d)?$/;
/** `text|String|Buffer\.from`, in a pattern or a usage line. */
const alternatives = /^[\w.\\-]{1,40}(?:\|[\w.\\-]{1,40}){2,}/;

/** Values that are no secret whatever their key. */
export function isKept(value: string, shape: TextShape, writing: Notation): boolean {
  const { lower, upper, digits, bigramScore } = shape;
  if (commonWords.has(value.toLowerCase()) || isDummyValue(value) || isUniform(value) || isAlgorithm(value))
    return true;
  for (const { pattern, unquoted } of forms)
    if ((!unquoted || (writing !== "quoted" && digits * 4 < value.length)) && pattern.test(value)) return true;
  if (isTemplate(value, braceSlots, "{")) return true;
  if (value.includes("|") && alternatives.test(value) && !value.split("|").some(isRandomPart)) return true;
  // `src/app/keys`, in contrast to base64.
  if (path.test(value) && bigramScore > -0.8 && shape.classChanges * 4 < value.length) return true;
  // `$password`, in contrast to `$Uo4Aessy2`.
  if (/^\$[A-Za-z_]\w*$/.test(value) && (digits === 0 || !isRandom(shape))) return true;
  // CONSTANTS that name another setting.
  if (lower === 0 && upper > 3 && /^[A-Z][A-Z0-9_]*$/.test(value)) {
    if (constant.test(value) && digits * 3 < value.length && isKeyName(value)) return true;
    if (value.includes("_") ? digits * 4 < value.length && bigramScore > -0.6 : digits <= 2 && bigramScore > 0.3)
      return true;
  }
  if (writing === "quoted") return false;
  if (isExpression(value)) return true;
  if (bigramScore <= -0.8) return false;
  if (callOrIndex.test(value)) return true;
  return expression.test(value) && value.includes(".") && (bigramScore > -0.3 || digits * 6 < value.length);
}

/** What a program puts values into: `{0}-{1:015d}`, `{user}@{host}`, `VS%0.f0TOOLS`, `${prefix}-${id}`. */
const braceSlots = /\$?\{(?:\d{0,2}|[A-Za-z_][\w.]*(?:[[(][^{}]*)?)?(?:![rsa])?(?::[^{}]{0,12})?\}/g;
export const formatSpecifiers = /%[-+ #0]{0,3}\d{0,3}(?:\.\d{0,2})?[sdifgxXqv]/g;

/** Whether a text is a pattern that a program fills in, with nothing drawn around the places it fills. */
export function isTemplate(value: string, places: RegExp, mark: string): boolean {
  if (!value.includes(mark)) return false;
  const rest = value.replace(places, " ");
  if (rest === value) return false;
  return !rest.split(/[\s_.:/@-]+/).some((piece) => piece.length >= 12 || (mark === "{" && isRandom(shapeOf(piece))));
}

/** What an unquoted value of a program is made of: names, numbers, operators, a bracket behind a name or first. */
const programBracket =
  /^\.?[[(]|^[A-Za-z_$][\w$.]*\?[A-Za-z_$]|^\.[a-z]|(?<![A-Za-z_])[A-Za-z_]{3,64}[[({]|^[A-Za-z_]{1,12}\[-?\d{0,3}:?-?\d{0,3}$/;
const programParts = /[A-Za-z_$][\w$]*|\d+|./g;

/** Whether an unquoted value is an expression: `cfg.get(`, `[1]*N`, `0,1,2,fp.fileno(`. */
function isExpression(value: string): boolean {
  if (!programBracket.test(value)) return false;
  let behindNumber = false;
  for (const [piece] of value.matchAll(programParts)) {
    const isNumber = /^\d/.test(piece);
    if (isNumber) {
      if (piece.length > 4) return false;
    } else if (/^[A-Za-z_$]/.test(piece)) {
      if (behindNumber) return false;
      if (/\d./.test(piece) ? !isIdentifier(piece) : piece.length > 3 && shapeOf(piece).bigramScore < -0.8)
        return false;
    } else if (!"()[]{}.,:;*+-/%|&<>=?' \"".includes(piece)) return false;
    behindNumber = isNumber;
  }
  return true;
}

/** `scram-sha-256`, `AES_256_GCM`, `ed25519`. */
function isAlgorithm(value: string): boolean {
  if (namedAlgorithm.test(value)) return true;
  const parts = value.length <= 32 ? value.toLowerCase().split(/[-_]/) : [""];
  return (
    parts.some((piece) => /[a-z]/.test(piece)) &&
    parts.every(
      (piece) => piece !== "" && (/^\d+$/.test(piece) || algorithmParts.has(piece.replace(/(?<!\d)\d+$/, ""))),
    )
  );
}

function isRandomPart(piece: string): boolean {
  return piece.length >= 8 && isRandom(shapeOf(piece)) && !isIdentifier(piece);
}

/** One character over and over. */
export function isUniform(value: string): boolean {
  return value.length > 0 && value === value.charAt(0).repeat(value.length);
}
