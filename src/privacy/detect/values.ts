import { isKeyName } from "./key-names.ts";
import { isDummyValue, isIdentifier, isIdentifierShaped, isRandom, shapeOf, type TextShape } from "./randomness.ts";

/** How a value was written, which says how much of it can be code or a sentence. */
export type Notation =
  /** Between quotes, in a tag, a table cell or after a command-line option. */
  | "quoted"
  /** Up to the next white space, as in `.env` and YAML files; may be code. */
  | "bare"
  /** A word of a sentence. */
  | "prose";

const commonWords = new Set(
  "password passwd passphrase pass secret secrets token key apikey api-key api_key none null nil undefined true false yes no on off required optional string str text number boolean bool int integer object array any unknown hidden masked redacted removed empty blank default admin root user username guest test tests testing tester foo bar baz qux abc123 foobar example sample dummy placeholder changeme change_me change-me todo tbd fixme n/a na value values basic bearer digest oauth oauth2 jwt sha256 sha512 md5 bcrypt argon2 scrypt env environment file vault auto generated generate random uuid hex base64 utf8 utf-8 ascii localhost 127.0.0.1 0.0.0.0 postgres mysql mongodb redis enabled disabled missing invalid valid wrong correct incorrect expired stored the a an is in not your my this that it".split(
    " ",
  ),
);

const references =
  /^(?:\$\{|\$\(|\$[A-Za-z_]\w*[./:)\]}"]|\{\{|\{%|<%|<[A-Za-z_ -]*>?$|%[A-Za-z_]\w*%$|%[a-z]$|%\([a-z]|#\{|@[A-Za-z]+@$|\[?REDACTED|\[[A-Z_ -]+\]|!(?:Ref|Sub|GetAtt|ImportValue|vault|secret|env|Join|Select)\b|&[A-Za-z]+$|\*[A-Za-z]+$|process\.|os\.|env[.:([]|ENV[.[(]|ENC\[|System\.|Environment\.|getenv|config[.[(]|settings[.[(]|self\.|this\.|req\.|request\.|ctx\.|vault:|arn:|ssm:|sops:|op:\/\/|secretref:|secrets?[.[]|data\.|var\.|local\.|module\.|params?\.|props\.|options?\.|args?[.[]|https?:\/\/|file:|projects\/|@Microsoft|keyvault)/;

/** `foo(`, `a.b.c`, `a.b()`, `x[0]`: an expression, where the value is not quoted. */
const expression = /^[A-Za-z_$@][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*$/;
const callOrIndex = /^[A-Za-z_$@][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*(?:\?\.|!)?[([]/;
const path = /^(?:\.{0,2}\/|~\/|[A-Za-z]:\\|[a-z0-9_-]{2,}\/[a-z0-9_-]+\/)[\w./ -]*$/i;
export const uuid = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const hexText = /^(?:0x)?[0-9a-f]+$/i;
const algorithmParts = new Set(
  "scram hmac pbkdf rsa ecdsa ed ecdh ecdhe dhe psk ccm aes hs rs es ps sha cbc gcm ctr oaep pkcs p k plus curve x chacha poly ssh dss nistp blake b r pem der spki jwk prime v secp".split(
    " ",
  ),
);
/** `prime256v1`, `secp384r1`: curves, by the names that programs give them; `PBKDF2WithHmacSHA256`. */
const namedAlgorithm = /^(?:prime|sec[pt]|brainpoolP|wtls|c2[pt]nb)\d{3}[a-z]\d{1,2}$|^PB(?:KDF2|E)With\w{4,40}$/i;

/** Numbers that are more than digits: `0x8B30`, `-0x3f879678`, `(0x10UL)`, `2.71828e-1000`, `3.14159265i`. */
const number = /^\(?[-+]?(?:0x[0-9a-f_]{1,16}[ul]{0,3}|\d[\d_]*\.\d+(?:e[-+]?\d+)?[fijl]?|\d+e[-+]?\d+)[),/]{0,2}$/i;
const typeWords =
  "(?:true|false|null|undefined|none|nil|string|str|number|boolean|bool|int|integer|float|array|list|dict|mixed|resource|void|callable|iterable|never|object|any|unknown)";
/** `true|false`, `string|undefined`. */
const choice = new RegExp(`^${typeWords}(?:\\|${typeWords})+$`, "i");
/** `strict=False`, `path=path`, as an argument of a call. */
const argument = /^(?:[a-z_]\w{0,40}=(?:true|false|none|null|\d{1,4})?|(\w{2,40})=\1\)?)$/i;
/** `path=path`, `disable=protected-access`, where the value is not quoted. */
const settingOfWord = /^[a-z_]{2,40}=[a-z_.-]{2,40}$/i;
/** Public keys in base64: EC, RSA, Ed25519. */
const publicKey =
  /^(?:MFkwEwYHKoZIzj0|MHYwEAYHKoZIzj0|MIGbMBAGByqGSM49|MIIBIjANBgkqhkiG|MIICIjANBgkqhkiG|MIGfMA0GCSqGSIb3DQEBAQUAA4|MCowBQYDK2Vw)/;
/** `CountryIso3::PLW`, `&Util::now(`. */
const member = /^(?:\\?&)?[A-Za-z_]\w{0,40}(?:::[A-Za-z_]\w{0,40}){1,8}\(?$/;
/** `value1`, `Value1:Key2=Value2`, in examples. */
const exampleValue = /^value\d{0,2}(?![a-z0-9])|^value\d{1,2}[A-Z]/i;
/** `localhost:22`, `HTTP/1.1`, `T1003.008`, `!0` of packed programs, `[a-z0-9]+`, `list[V1ObjectReference]`, `#include`, `-aes256`. */
const otherNotation =
  /^(?:localhost|(?:[\w-]{1,63}\.){1,8}[a-z]{2,10}):\d{2,5}$|^HTTP\/\d|^T\d{4}\.\d{3}$|^![01](?:[,;)}]|$)|^\[(?:\^|a-z|A-Z|0-9|\\w)|^(?:list|dict|map|array|set|optional|sequence|tuple)[[(<]|^#(?:include|define|import|endif|pragma)\b|^--?[a-z]{2,}(?:-[a-z]{1,20})*\d{0,4}$/;
/** Names of settings and of environment variables: `OVHCLOUD_API_KEY`. */
const constant = /^[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20}){1,8}(?:\$\d)?$/;
/** `text|String|Buffer\.from`, in a pattern or a usage line. */
const alternatives = /^[\w.\\-]{1,40}(?:\|[\w.\\-]{1,40}){2,}/;

/** What a program puts values into: `{0}-{1:015d}`, `{user}@{host}`, `VS%0.f0TOOLS`, `${prefix}-${id}`. */
const braceSlots = /\$?\{(?:\d{0,2}|[A-Za-z_][\w.]*(?:[[(][^{}]*)?)?(?:![rsa])?(?::[^{}]{0,12})?\}/g;
const formatSpecifiers = /%[-+ #0]{0,3}\d{0,3}(?:\.\d{0,2})?[sdifgxXqv]/g;

/** Whether a text is a pattern that a program fills in, with nothing drawn around the places it fills. */
function isTemplate(value: string, places: RegExp, mark: string): boolean {
  if (!value.includes(mark)) return false;
  const rest = value.replace(places, " ");
  if (rest === value) return false;
  return !rest.split(/[\s_.:/@-]+/).some((part) => part.length >= 12 || (mark === "{" && isRandom(shapeOf(part))));
}

/** What an unquoted value of a program is made of: names, numbers and operators, and a bracket behind a name or at its beginning. */
const programBracket =
  /^\.?[[(]|^[A-Za-z_$][\w$.]*\?[A-Za-z_$]|^\.[a-z]|[A-Za-z_]{3,}[[({]|^[A-Za-z_]{1,12}\[-?\d{0,3}:?-?\d{0,3}$/;
const programParts = /[A-Za-z_$][\w$]*|\d+|./g;

/** Whether an unquoted value is an expression: `cfg.get(`, `[1]*N`, `0,1,2,fp.fileno(`. */
function isExpression(value: string): boolean {
  if (!programBracket.test(value)) return false;
  let behindNumber = false;
  for (const [part] of value.matchAll(programParts)) {
    const isNumber = /^\d/.test(part);
    if (isNumber) {
      if (part.length > 4) return false;
    } else if (/^[A-Za-z_$]/.test(part)) {
      if (behindNumber) return false;
      if (/\d./.test(part) ? !isIdentifier(part) : part.length > 3 && shapeOf(part).bigramScore < -0.8) return false;
    } else if (!"()[]{}.,:;*+-/%|&<>=?' \"".includes(part)) return false;
    behindNumber = isNumber;
  }
  return true;
}

/** `scram-sha-256`, `AES_256_GCM`, `ed25519`. */
function isAlgorithm(value: string): boolean {
  return (
    (value.length <= 32 &&
      value
        .toLowerCase()
        .split(/[-_]/)
        .every((part) => part !== "" && (/^\d+$/.test(part) || algorithmParts.has(part.replace(/\d+$/, ""))))) ||
    namedAlgorithm.test(value)
  );
}

/** What only programs write: numbers, names, types, choices, patterns, arguments, expressions. */
function isProgramText(value: string, shape: TextShape, writing: Notation): boolean {
  const { lower, digits, bigramScore } = shape;
  if (lower === 0 && constant.test(value) && digits * 3 < value.length && isKeyName(value)) return true;
  if (publicKey.test(value) || exampleValue.test(value)) return true;
  if (shape.others === 0 || /^\w+$/.test(value)) return digits > 0 && number.test(value);
  if (number.test(value) || argument.test(value) || member.test(value)) return true;
  if (otherNotation.test(value) || isTemplate(value, braceSlots, "{")) return true;
  if (value.includes("|")) {
    if (choice.test(value)) return true;
    if (alternatives.test(value) && !value.split("|").some(isRandomPart)) return true;
  }
  return writing !== "quoted" && ((bigramScore > -0.8 && settingOfWord.test(value)) || isExpression(value));
}

/** Values that are no secret whatever their key: dummy values, references to where the secret is, types, expressions. */
function isKnownNonSecret(value: string, shape: TextShape, writing: Notation): boolean {
  if (commonWords.has(value.toLowerCase())) return true;
  if (references.test(value) || isDummyValue(value)) return true;
  if (isUniform(value)) return true;
  if (isAlgorithm(value)) return true;
  if (isProgramText(value, shape, writing)) return true;
  // A regular expression, a fingerprint.
  if (/^\/.*[\])}\\].*\/[a-z]{0,3}$|^(?:SHA(?:1|256|384|512)|MD5):/.test(value)) return true;
  if (path.test(value) && shape.bigramScore > -0.8) return true;
  // `$password`, in contrast to `$Uo4Aessy2`.
  if (/^\$[A-Za-z_]\w*$/.test(value) && (shape.digits === 0 || !isRandom(shape))) return true;
  // CONSTANTS that name another setting.
  if (shape.lower === 0 && shape.upper > 3 && /^[A-Z][A-Z0-9_]*$/.test(value)) {
    if (
      value.includes("_")
        ? shape.digits * 4 < value.length && shape.bigramScore > -0.6
        : shape.digits <= 2 && shape.bigramScore > 0.3
    )
      return true;
  }
  if (writing !== "quoted" && shape.bigramScore > -0.8) {
    if (callOrIndex.test(value)) return true;
    if (expression.test(value) && value.includes("."))
      return shape.bigramScore > -0.3 || shape.digits * 6 < value.length;
  }
  return false;
}

function isRandomPart(part: string): boolean {
  return part.length >= 8 && isRandom(shapeOf(part)) && !isIdentifier(part);
}

/** One character over and over. */
function isUniform(value: string): boolean {
  for (let i = 1; i < value.length; i++) if (value.charCodeAt(i) !== value.charCodeAt(0)) return false;
  return true;
}

/** Whether a value beside a word for `password` is one. */
export function isPassword(value: string, writing: Notation): boolean {
  if (value.length < (writing === "prose" ? 6 : 4) || value.length > 256) return false;
  const shape = shapeOf(value);
  const { digits, upper, lower, others, bigramScore, bigrams } = shape;
  const letters = upper + lower;
  // The cheap question first: nearly every value beside such a name is a word of the program.
  if (letters === value.length && (upper === 0 ? bigramScore >= -0.9 : bigramScore >= 0.2)) return false;
  if (isKnownNonSecret(value, shape, writing) || /\s/.test(value)) return false;
  if (letters === 0) return others === 0 ? digits >= 6 : digits > 0 && strongSymbols(value) > 0 && value.length >= 6;
  const strong = strongSymbols(value);
  const mentions = /pass(?:word|wd|phrase)|secret|token|user|credential/i.test(value);
  if (digits > 0) {
    if (mentions) return strong > 0 || digits >= 2;
    if (writing === "quoted" || strong > 0) return value.length >= 5;
    if (value.length < 6) return false;
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
  if (!random && (shape.digits === 0 || shape.others === 0) && !hexText.test(value)) return false;
  if (isKnownNonSecret(value, shape, writing)) return false;
  // WordPress draws its salts from all printable characters, blanks too.
  if (/\s/.test(value))
    return (
      writing === "quoted" &&
      value.length >= 48 &&
      strongSymbols(value) >= 6 &&
      shape.digits >= 3 &&
      !/^[A-Za-z]+ \w+="/.test(value) // `Digest username="…", realm="…"`
    );
  if (hexText.test(value)) return shape.digits > 0 && value.length >= 12 && shape.digits < value.length;
  // The tables of a parser that was generated (`tokenData: "…"`): so long a key is written in an alphabet of an encoding.
  if (value.length > 512 && notEncoded.test(value)) return false;
  if (/[()[\]{}<>,"'`]/.test(value) && writing !== "quoted") return false;
  if (isIdentifierShaped(value.replace(/[,;:)\]}]+$/, ""), shape) || isTemplate(value, formatSpecifiers, "%"))
    return false;
  const strong = strongSymbols(value.replace(/[+=/]/g, ""));
  if (shape.digits > 0 && strong > 0 && shape.upper + shape.lower > 2) return true;
  return random && (value.length >= 16 || shape.digits >= 2 || writing === "quoted");
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

/** Whether a value is letters of one case and digits in a row that nobody writes, and no hash in hex: as many vendors draw keys. */
export function isDrawnInOneCase(value: string): boolean {
  if (!oneCase.test(value) || hexText.test(value)) return false;
  const shape = shapeOf(value);
  return shape.digits * 8 >= shape.length && shape.classChanges * 4 >= shape.length && isRandom(shape);
}
