import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { keptForms } from "#privacy/detect/kept-values.ts";
import { commands } from "#privacy/detect/notations.ts";
import { nameNotations } from "#privacy/detect/value-notations.ts";
import { privacyEngine } from "#privacy/engine.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

const rows = <Row>(file: string): Row[] =>
  readFileSync(join(import.meta.dir, file), "utf8")
    .trim()
    .split("\n")
    .map((line): Row => JSON.parse(line)); // our own file, one object a line

const small = "abcdefghijklmnopqrstuvwxyz";
const base62 = `${small}${small.toUpperCase()}0123456789`;
const alphabets: Readonly<Record<string, readonly [string, number]>> = {
  "16 of base62": [base62, 16],
  "24 of base62": [base62, 24],
  "40 of base62": [base62, 40],
  "32 of hex": ["0123456789abcdef", 32],
  "40 of URL-safe base64": [`${base62}-_`, 40],
  "24 small letters and digits": [`${small}0123456789`, 24],
  "26 of base32": [`${small.toUpperCase()}234567`, 26],
};
const passwords = jsonLines<string>(import.meta.dir, "fixtures/passwords.jsonl");

/** What stands at the mark in a text of `found.jsonl`, by kind. */
const secrets: Readonly<Record<string, readonly string[]>> = {
  token: [`ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`],
  password: [`Velvet${"&"}8997`],
  key: [`d96ehmwwc620t9${"hzhkn7ph8o"}`],
  salt: ["z|V8yn#:{<s@k7 P+N;yOV4;dF=GQw-)6pA5W$HnN^jq4.{2bT`?LM4Rl!s%h&1E"],
  "key of one case": ["59jua35yp2fmgtq932vld88q6arn93qi", "59JUA35YP2FMGTQ932VLD88Q6ARN93QI"],
  "groups of four": ["dfxx jopx ugys ksmn", "7T3V JYXO MBFX Z7GU KLSP AOE5 LRR3 7ZHX", "5jG0 SjBv LP2y TaGi qvVU PFpl"],
  "chosen password": passwords,
  "drawn key": Object.values(alphabets).map(([alphabet, length]) => {
    const random = seededRandom(length);
    return Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
  }),
};

interface Found {
  readonly secret: string;
  readonly place?: string;
  readonly text: string;
}
describe("is found and replaced:", () => {
  test.each(rows<Found>("found.jsonl").map((row) => [`${row.secret} ${row.place ?? row.text}`, row] as const))(
    "%s",
    (_, { secret, text }) => {
      for (const value of secrets[secret] ?? []) {
        const redacted = redact(text.replaceAll("§", value));
        expect(redacted).toContain("[REDACTED:");
        expect(redacted).not.toContain(value.slice(-12));
      }
    },
  );
});

interface Kept {
  /** What the text looks like to a scanner. */
  readonly kind?: string;
  readonly text: string;
}
describe("is not changed:", () => {
  test.each(rows<Kept>("kept.jsonl").map(({ kind, text }) => [kind ?? "", text] as const))("%s %p", (_, text) => {
    expect(redact(text)).toBe(text);
  });
});

test.each(keptForms.map((form) => [form.form, form] as const))(
  "%s beside a name is kept, and what looks alike is not",
  (_, form) => {
    const place = (value: string) => (form.unquoted === true ? `password: ${value}\n` : `password: "${value}"`);
    expect(redact(place(form.kept))).toBe(place(form.kept));
    expect(redact(place(form.replaced))).toContain("[REDACTED:");
  },
);

test.each([
  ...commands.map(({ word, id = "", found, kept }) => [word, found, kept, id] as const),
  ...nameNotations.map(({ notation, found, kept }) => [notation, found, kept, ""] as const),
])("the example of %p is found, and the other is kept", (_, found, kept, id) => {
  expect(redact(found.replace("§", secrets["password"]?.[0] ?? ""))).toContain(
    `[REDACTED:${id === "" ? "password" : id}:1]`,
  );
  expect(redact(kept)).toBe(kept);
});

test("the tables of a generated parser stay, and a key of their length is found", () => {
  const parser = readFileSync(require.resolve("@prometheus-io/lezer-promql"), "utf8");
  expect(parser).toContain('tokenData: "');
  expect(redact(parser)).toBe(parser);
  const random = seededRandom(5);
  const bytes = Buffer.from(Array.from({ length: 600 }, () => Math.floor(random() * 256)));
  for (const alphabet of ["base64", "base64url", "hex"] as const) {
    const key = bytes.toString(alphabet);
    expect(redact(`api_secret: "${key}"`)).not.toContain(key.slice(0, 64));
  }
});
