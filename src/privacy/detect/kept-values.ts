import { wordList } from "#privacy/rules/tables.ts";
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
  readonly pattern: RegExp;
  /** Only where the value is not quoted: between quotes it would be a secret. */
  readonly unquoted?: true;
  readonly kept: string;
  /** A value that looks alike, and is replaced. */
  readonly replaced: string;
}

const typeName =
  "(?:true|false|null|undefined|none|nil|string|str|text|number|boolean|bool|int(?:eger)?|[iu](?:8|16|32|64|128|size)|float|double|char|byte|bytes|array|list|dict|map|mixed|resource|void|callable|iterable|never|object|any|unknown|id|uuid|date|datetime|json|data|securestring|password|secret\\w{0,10})";
const dotted = `[A-Za-z_$@][\\w$]{0,60}(?:(?:\\.|::|->|\\?\\.)[A-Za-z_$][\\w$]{0,60}){0,8}`;

// biome-ignore format: one form a line, so that the list reads as a table
export const keptForms: readonly KeptForm[] = [
  { form: "reference", kept: "${DB_PASSWORD}", replaced: "$Uo4Aessy2", pattern: /^(?:\}\}|\$\{|\$\(|\$[A-Za-z_]\w*[./:)\]}"]|\{\{|\{%|<%|<[A-Za-z_ -]*>?$|%[A-Za-z_]\w*%$|%[a-z]$|%\([a-z]|#\{|@[A-Za-z]+@$|\[?REDACTED|\[[A-Z_ -]+\]|!(?:Ref|Sub|GetAtt|ImportValue|vault|secret|env|Join|Select)\b|&[A-Za-z]+$|\*[A-Za-z]+$|process\.|os\.|env[.:([]|ENV[.[(]|ENC\[|System\.|Environment\.|getenv|config[.[(]|settings[.[(]|self\.|this\.|req\.|request\.|ctx\.|vault:|arn:|ssm:|sops:|op:\/\/|secretref:|secrets?[.[]|data\.|var\.|local\.|module\.|params?\.|props\.|options?\.|args?[.[]|https?:\/\/|file:|projects\/|@Microsoft|keyvault)/ },
  { form: "password hash", kept: "$2y$10$N9qo8uLOickgx2ZMRZoMye", replaced: "$ecret2Pass", pattern: /^(?:[\w.@-]{1,64}:)?(?:\{[A-Za-z0-9-]{2,16}\})?\$(?:\d\w?|[2y]|gy|apr1|argon2\w{0,2}|pbkdf2[\w-]{0,12}|s?crypt|bcrypt[\w-]{0,8}|sha\d{0,3}|md5|[PHS])\$|^\{(?:S?SHA(?:\d{3})?|S?MD5|CRYPT|PBKDF2[\w-]*)\}|^(?:(?:django_)?pbkdf2\w{0,10}|bcrypt\w{0,7}|argon2\w{0,2}|scrypt|sha\d{0,3}|md5|scram-sha-256)[$:]|^md5[0-9a-f]{32}$|^\*[0-9A-F]{40}$/i },
  { form: "version", kept: "5.1.1(@types/node@22.10.2)", replaced: "5.1.1Pass!x", pattern: /^[v^~=<>]{0,2}\d{1,5}\.\d{1,5}(?:\.\d{1,9})?(?:$|[-+(][\w.+@/()-]*$|\.\w{1,12}$)/ },
  { form: "artifact", kept: "jjwt-api:0.12.5", replaced: "api:Zq8x5v7w", pattern: /^(?:[\w.-]{1,80}:){1,3}\d{1,5}\.\d{1,5}[\w.+-]*$/ },
  { form: "type", kept: "String!", replaced: "Strong9!", pattern: new RegExp(`^[[(&*]{0,3}(?:'\\w{1,12} |mut )?${typeName}(?:\\([\\d,]{0,8}\\))?[\\])?!,;*|]{0,5}$|^[A-Z][A-Za-z]{1,40}(?:Input|Type|Enum|Scalar|Output)?[\\]]{0,2}[!?][\\]!?,;]{0,3}$`, "i"), unquoted: true },
  { form: "choice", kept: "string|undefined", replaced: "string|9x!kw", pattern: new RegExp(`^${typeName}(?:\\|${typeName})+$`, "i") },
  { form: "colour, issue, link", kept: "#22c55e", replaced: "#22c55eQ", pattern: /^(?:#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|\(?\[{0,2}#\d{1,7}\]{0,2}\)?)[;,)]?$|^\(?\[[^\]\n]{0,80}\]\(/i },
  { form: "number", kept: "0x8B30", replaced: "0x8B30zq!w", pattern: /^\(?[-+]?(?:0x[0-9a-f_]{1,16}[ul]{0,3}|\d[\d_]*\.\d+(?:e[-+]?\d+)?[fijl]?|\d+e[-+]?\d+)[),/]{0,2}$/i },
  { form: "argument", kept: "strict=False)", replaced: "strict=9k!zQ", pattern: /^(?:[a-z_]\w{0,40}=(?:true|false|none|null|\d{1,4})?|(\w{2,40})=\1)[),;]{0,3}$|^[;&,]\s?[\w.-]{1,40}=$|^--?[a-z][\w-]{0,40}\d{0,4}=?$/i },
  { form: "path of a member", kept: "config.0.secret_key_wo", replaced: "zebra.0x9Q!kz", pattern: /^[a-z]\w{0,60}(?:\.\w{1,60}){0,10}\.(?:\d{1,4}|\*)(?:\.\w{1,60}){1,10}$/ },
  { form: "member", kept: "Algorithm::HS256", replaced: "kq::9xW!", pattern: /^(?:\\?&)?[A-Za-z_]\w{0,40}(?:::[A-Za-z_]\w{0,40}){1,8}\(?$/ },
  { form: "example value", kept: "value1", replaced: "value1z9q", pattern: /^[vV]alue\d{0,2}(?![a-z0-9])|^[vV]alue\d{1,2}[A-Z]/ },
  { form: "public key", kept: "MFkwEwYHKoZIzj0CAQYI", replaced: "MFkwEwYHKoZIzj1x", pattern: /^(?:MFkwEwYHKoZIzj0|MHYwEAYHKoZIzj0|MIGbMBAGByqGSM49|MIIBIjANBgkqhkiG|MIICIjANBgkqhkiG|MIGfMA0GCSqGSIb3DQEBAQUAA4|MCowBQYDK2Vw)/ },
  { form: "host, header, class of characters", kept: "localhost:2222", replaced: "local:h0st!2", pattern: /^(?:localhost|(?:[\w-]{1,63}\.){1,8}[a-z]{2,10}):\d{2,5}$|^HTTP\/\d|^T\d{4}\.\d{3}$|^![01](?:[,;)}]|$)|^\[(?:\^|a-z|A-Z|0-9|\\w)|^(?:list|dict|map|array|set|optional|sequence|tuple)[[(<]|^#(?:include|define|import|endif|pragma)\b/ },
  { form: "regular expression, fingerprint", kept: "SHA256:uNiVztksCsDhcc0u9e8B", replaced: "SHA7q!9w", pattern: /^#!|^\.[*+]|^\/.*[\])}\\].*\/[a-z]{0,3}$|^(?:SHA(?:1|256|384|512)|MD5):/ },
  { form: "negation", kept: "!isPassword", replaced: "!9xKw2", pattern: new RegExp(`^!{1,2}${dotted}[),;]{0,3}$`), unquoted: true },
  { form: "setting of a word", kept: "disable=protected-access", replaced: "disable=9Qw!", pattern: /^[a-z_]{2,40}=[a-z_.-]{2,40}$/i, unquoted: true },
];

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
  for (const { pattern, unquoted } of keptForms)
    if (
      (unquoted !== true || writing !== "quoted") &&
      pattern.test(value) &&
      (unquoted !== true || digits * 4 < value.length)
    )
      return true;
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

/** What an unquoted value of a program is made of: names, numbers and operators, and a bracket behind a name or at its beginning. */
const programBracket =
  /^\.?[[(]|^[A-Za-z_$][\w$.]*\?[A-Za-z_$]|^\.[a-z]|[A-Za-z_]{3,}[[({]|^[A-Za-z_]{1,12}\[-?\d{0,3}:?-?\d{0,3}$/;
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
  return parts.every((piece) => piece !== "" && (/^\d+$/.test(piece) || algorithmParts.has(piece.replace(/\d+$/, ""))));
}

function isRandomPart(piece: string): boolean {
  return piece.length >= 8 && isRandom(shapeOf(piece)) && !isIdentifier(piece);
}

/** One character over and over. */
export function isUniform(value: string): boolean {
  return value.length > 0 && value === value.charAt(0).repeat(value.length);
}
