/**
 * The speed of the privacy gate: `bun bench/privacy.ts`. On a machine with other work only the fast runs are reproducible. So every
 * text is scanned in several rounds, some seconds apart, and its figure is the fastest tenth of all runs, beside a plain loop over
 * the same bytes in the same rounds. The fastest rounds of two sizes show whether time grows faster than the length.
 */

import { Policy } from "#config/policy.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { tokenRules } from "#privacy/rules/token-rules.ts";
import { quantile } from "./support/quantiles.ts";

// What was scanned before would only be looked up.
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

const base64 = (text: string, encoding: BufferEncoding = "utf8") => Buffer.from(text, encoding).toString("base64");
/** Texts that are nothing but this over and over; and each beginning of a token. */
const repeated = [
  ...'a| |\\|"|/|key=|key="|password: |password is |://|a://|http://a:b|eyJhbGciOi|a-eyJ|sk-ghp_xoxb-AKIA|bearer |token token '.split(
    "|",
  ),
  ...`\u200bab|%3D|%40|\\u003d|cookie: a=|curl -u |a:b@tcp(|samlresponse=|net use /user:a |[REDACTED:a:1]|MIG/|MIG/ |kеy=|`.split(
    "|",
  ),
  ...'insert into t(|00000000: 61\n|00000000  |apiKey = testRSA2048PrivateKeyOf(|password = a[|secret = \'{a}{b|"ghp_abcdefgh" + '.split(
    "|",
  ),
  ...[
    "| password | token |\n",
    "password,token\n1,2\n",
    "ghp_abcdefghijklm=\n",
    "a\x1b[01;31m\x1b[Kkey",
    "key\\u001b[31m",
  ],
  `-----BEGIN RSA PRIVATE${" KEY-----\n"}`,
  `${base64("hello world this is text")} `,
  `${base64("<samlp:Response xmlns:samlp=")} `,
  `${base64(`<samlp:Response a="urn:oasis:names:tc:SAML">`).slice(0, 56)}\n`,
  `${base64("password=12 and more", "utf16le")} `,
  `${Buffer.from("password=correct-horse").toString("hex")} `,
  "00000000: 7061 7373 776f 7264 3d61 6263 6465 310a  password=abcde1.\n",
  ...tokenRules.flatMap(({ starts }) => starts.slice(0, 1)),
].filter((unit) => unit !== "");

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
  for (let round = 0; round < 3 || performance.now() < end; round++) {
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

console.log("\nadversarial text, slowest      64 KB ms   512 KB ms   times (8 is linear)");
const slowest = repeated
  .map((unit) => {
    const make = (size: number) => flat(unit.repeat(size / unit.length));
    return { unit, times: fastestOf(make(64 * KB), make(512 * KB), 0) };
  })
  .sort((one, other) => other.times[1] - one.times[1])
  .slice(0, 30);
for (const { unit, times } of slowest) {
  const [short, long] = times;
  const name = JSON.stringify(unit.slice(0, 24)).padEnd(28);
  console.log(
    `${name} ${short.toFixed(2).padStart(10)} ${long.toFixed(2).padStart(11)} ${(long / short).toFixed(1).padStart(8)}`,
  );
}
