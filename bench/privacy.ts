/**
 * The speed of the privacy gate: `bun bench/privacy.ts`. On a machine with other work only the fast runs are reproducible. So every
 * text is scanned in several rounds, some seconds apart, and its figure is the fastest tenth of all runs, beside a plain loop over
 * the same bytes in the same rounds. The fastest rounds of two sizes show whether time grows faster than the length.
 */

import { Policy } from "#config/policy.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { quantile } from "./support/quantiles.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const KB = 1_024;

const random = seededRandom(7);
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T; // the index is within the list
/** A flat string, as in a parsed request body. */
const flat = (text: string) => Buffer.from(text).toString();
const drawn = (alphabet: string, length: number) => Array.from({ length }, () => pick([...alphabet])).join("");
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

const nouns =
  "user order item token value index result config key session cache render update parse merge secret request response buffer handler route query option password state node child parent event listener count total price region schema field model column worker batch stream".split(
    " ",
  );
const words =
  "the of and to a in that is was for it with as on be at by had not but from they this have an which one all their there when we can more will if no said out about up into do any your what has them some could other than then now only its over also back after use two how our work first well way even new want because give these most us service request model answer time person year company number group problem fact house water history question important key password secret".split(
    " ",
  );

function code(size: number): string {
  const name = () => `${pick(nouns)}${pick(["_", "", ""])}${pick(nouns)}`;
  const lines = [
    () => `export function ${name()}(${name()}: string, ${name()}: number): ${pick(["void", "string", "boolean"])} {`,
    () => `  const ${name()} = this.${name()}.get(${name()}.${pick(nouns)}) ?? ${Math.floor(random() * 900)};`,
    () => `  if (!${name()} || ${name()}.length === 0) return ${pick(["null", "[]", "false"])};`,
    () => `  // ${pick(nouns)} of the ${pick(nouns)} is kept while the ${pick(nouns)} changes`,
    () => `import { ${name()}, ${name()} } from "../${pick(nouns)}/${name()}.js";`,
    () => `  throw new Error(\`${pick(nouns)} not found in ${pick(nouns)}\`);`,
    () => "}",
  ];
  let text = "";
  while (text.length < size) text += `${pick(lines)()}\n`;
  return text.slice(0, size);
}

/** A word; the first of the list are the most frequent, as in any language. */
const usual = () => words[Math.floor(random() * random() * words.length)] ?? "the";

function prose(size: number): string {
  let text = "";
  while (text.length < size) {
    const sentence = Array.from({ length: 6 + Math.floor(random() * 14) }, usual).join(" ");
    text += `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}. `;
  }
  return text.slice(0, size);
}

function withSecrets(text: string): string {
  return text
    .split("\n")
    .map((line, i) => (i % 100 === 50 ? `${line}\nAUTH_VALUE="ghp_${drawn(alphanumeric, 36)}"` : line))
    .join("\n");
}

const plainCode = code(200 * KB);
const texts: Record<string, string> = {
  "code, 200 KB": plainCode,
  "prose, 200 KB": prose(200 * KB),
  "prose, 2 KB": prose(2 * KB),
  "code, 1 % of lines secret": withSecrets(plainCode),
  "code, escaped in JSON": JSON.stringify({ content: plainCode }),
  "code, two-byte string": `→ ${plainCode}`,
  "base64, 200 KB": drawn(`${alphanumeric}+/`, 200 * KB),
};

const adversarial: Record<string, (size: number) => string> = {
  "one letter": (n) => "a".repeat(n),
  spaces: (n) => " ".repeat(n),
  backslashes: (n) => "\\".repeat(n),
  quotes: (n) => '"'.repeat(n),
  "key=": (n) => "key=".repeat(n / 4),
  'key="': (n) => 'key="'.repeat(n / 5),
  "password: ": (n) => "password: ".repeat(n / 10),
  "password is ": (n) => "password is ".repeat(n / 12),
  "private key headers": (n) => `-----BEGIN RSA PRIVATE${" KEY-----\n"}`.repeat(n / 32),
  "://": (n) => "a://".repeat(n / 4),
  "http://a:b": (n) => "http://a:b".repeat(n / 10),
  eyJ: (n) => "eyJhbGciOi".repeat(n / 10),
  "a-eyJ": (n) => "a-eyJ".repeat(n / 5),
  "beginnings of tokens": (n) => "sk-ghp_xoxb-AKIA".repeat(n / 16),
  "zero width": (n) => "\u200bab".repeat(n / 3),
  "percent escapes": (n) => "%3D".repeat(n / 3),
  "unicode escapes": (n) => "\\u003d".repeat(n / 6),
  "cookie: a=": (n) => "cookie: a=".repeat(n / 10),
  "curl -u ": (n) => "curl -u ".repeat(n / 8),
  "@tcp(": (n) => "a:b@tcp(".repeat(n / 8),
  "short base64": (n) => `${Buffer.from("hello world this is text").toString("base64")} `.repeat(n / 33),
  samlresponse: (n) => "samlresponse=".repeat(n / 13),
  "saml messages": (n) => `${Buffer.from("<samlp:Response xmlns:samlp=").toString("base64")} `.repeat(n / 39),
  "wrapped saml message": (n) =>
    `${Buffer.from(`<samlp:Response a="urn:oasis:names:tc:SAML">`).toString("base64").slice(0, 56)}\n`.repeat(n / 57),
  "heads of tables": (n) => "| password | token |\n".repeat(n / 21),
  "columns of a table": (n) => "password,token\n1,2\n".repeat(n / 19),
  slashes: (n) => "/".repeat(n),
  "beginnings of keys": (n) => "MIG/".repeat(n / 4),
  "short beginnings of keys": (n) => "MIG/ ".repeat(n / 5),
  "literals joined": (n) => '"ghp_abcdefgh" + '.repeat(n / 17),
  "soft line breaks": (n) => "ghp_abcdefghijklm=\n".repeat(n / 19),
  "hex of text": (n) => `${Buffer.from("password=correct-horse").toString("hex")} `.repeat(n / 45),
  "/user:": (n) => "net use /user:a ".repeat(n / 16),
  placeholders: (n) => "[REDACTED:a:1]".repeat(n / 14),
  "colours in words": (n) => "a\x1b[01;31m\x1b[Kkey".repeat(n / 15),
  "escaped colours": (n) => "key\\u001b[31m".repeat(n / 13),
  "letters that look alike": (n) => "kеy=".repeat(n / 4),
  "offsets of dumps": (n) => "00000000: 61\n".repeat(n / 13),
  "blanks behind zeros": (n) => "00000000  ".repeat(n / 10),
  "dump of settings": (n) => "00000000: 7061 7373 776f 7264 3d61 6263 6465 310a  password=abcde1.\n".repeat(n / 68),
  "base64 of UTF-16": (n) => `${Buffer.from("password=12 and more", "utf16le").toString("base64")} `.repeat(n / 57),
  identifiers: (n) => "apiKey = testRSA2048PrivateKeyOf(".repeat(n / 33),
  "brackets behind a name": (n) => "password = a[".repeat(n / 13),
  "slots behind a name": (n) => "secret = '{a}{b".repeat(n / 15),
};

/** Appends the durations of repeated calls to a list, in seconds. */
function timed(call: () => unknown, forMs: number, seconds: number[]): void {
  const end = performance.now() + forMs;
  do {
    const start = performance.now();
    call();
    seconds.push((performance.now() - start) / 1_000);
  } while (performance.now() < end);
}

function fastestTenth(seconds: number[]): number {
  return quantile(seconds, 0.1);
}

/**
 * Milliseconds for a short text and for one eight times as long, each the fastest of many alternating rounds. A round scans the
 * short one eight times, so that both scan equally many bytes and leave equally much garbage.
 */
function fastestOf(short: string, long: string, forMs: number): readonly [number, number] {
  let [ofShort, ofLong] = [Infinity, Infinity];
  const end = performance.now() + forMs;
  for (let round = 0; round < 10 || performance.now() < end; round++) {
    const start = performance.now();
    for (let i = 0; i < 8; i++) engine.redactText(short);
    const between = performance.now();
    engine.redactText(long);
    ofShort = Math.min(ofShort, (between - start) / 8);
    ofLong = Math.min(ofLong, performance.now() - between);
  }
  return [ofShort, ofLong];
}

const flags = new Uint8Array(256).fill(1, 48, 123);
const bytes = new Uint8Array(1_048_576);
function byteLoop(length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum += flags[bytes[i] ?? 0] ?? 0;
  return sum;
}

const rounds = 6;
const flatTexts = Object.entries(texts).map(([name, text]) => ({
  name,
  text: flat(text),
  reads: [] as number[],
  loops: [] as number[],
}));
for (const { text } of flatTexts) timed(() => engine.redactText(text), 300, []); // until the code is compiled
for (let round = 0; round < rounds; round++) {
  for (const { text, reads, loops } of flatTexts) {
    timed(() => engine.redactText(text), 150, reads);
    timed(() => byteLoop(text.length), 40, loops);
  }
}
console.log("text                           MB/s   µs a call   of a byte loop's speed");
for (const { name, text, reads, loops } of flatTexts) {
  const seconds = fastestTenth(reads);
  const rate = text.length / 1e6 / seconds;
  console.log(
    `${name.padEnd(28)} ${rate.toFixed(0).padStart(6)} ${(seconds * 1e6).toFixed(1).padStart(11)} ${(fastestTenth(loops) / seconds).toFixed(2).padStart(10)}`,
  );
}

console.log("\nadversarial text            64 KB ms   512 KB ms   times (8 is linear)");
for (const [name, make] of Object.entries(adversarial)) {
  const [short, long] = fastestOf(flat(make(64 * KB)), flat(make(512 * KB)), 500);
  console.log(
    `${name.padEnd(25)} ${short.toFixed(2).padStart(10)} ${long.toFixed(2).padStart(11)} ${(long / short).toFixed(1).padStart(8)}`,
  );
}
