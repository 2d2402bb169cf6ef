import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { tokenRules } from "#privacy/rules/token-rules.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

const random = seededRandom(11);
const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));

/** A text that matches a rule's pattern: the first of alternatives, letters and digits where they are allowed, each chosen in some way. */
function example(pattern: string, choose = (count: number, _at: number) => Math.floor(random() * count)): string {
  const group =
    /\((?:\?:)?((?:[^()[\]\\|]|\\.|\[[^\]]*\])*)(?:\|(?:[^()[\]\\]|\\.|\[[^\]]*\])*)?\)(\?|\{\d+(?:,\d*)?\})?/;
  const flat = pattern.replace(group, (_, first: string, repetition = "{1}") =>
    first.repeat(repetition === "?" ? 0 : Number(/\d+/.exec(repetition)?.[0])),
  );
  if (flat !== pattern) return example(flat, choose);
  const atom = /(\[[^\]]*\]|\\.|[^\\[])(?:\{(\d+)(?:,(\d*))?\}|(\?))?/g;
  return pattern.replace(atom, (_, set: string, least = "1", most: string = least, optional?: string) => {
    const allowed = printable.filter((c) => new RegExp(`^${set}$`).test(c));
    const plain = allowed.filter((c) => /[A-Za-z0-9]/.test(c));
    const from = plain.length > 0 ? plain : allowed;
    const length = optional === undefined ? Math.max(Number(least), Math.min(24, Number(most || least))) : 0;
    return Array.from({ length }, (_, at) => from[choose(from.length, at)]).join("");
  });
}

describe("the rules", () => {
  test("name every type once, in snake_case, with its documentation", () => {
    expect(new Set(tokenRules.map(({ id }) => id)).size).toBe(tokenRules.length);
    for (const { id, docs } of tokenRules) {
      expect(id).toMatch(/^[a-z][a-z0-9_]{2,63}$/);
      expect(new URL(docs).protocol).toBe("https:");
    }
    expect(tokenRules.length).toBeGreaterThan(250);
  });

  test.each(tokenRules.map((rule) => [rule.id, rule] as const))("%s is found by itself", (_, { starts, body }) => {
    const missed: string[] = [];
    for (const start of starts.slice(0, 13)) {
      const token = start + example(body);
      expect(token.slice(start.length)).toMatch(new RegExp(`^${body}$`));
      // Two rules may share a shape; it only matters that the token is replaced.
      if (redact(`run ./deploy.sh ${token} prod`).includes(token.slice(Math.min(start.length, token.length - 8))))
        missed.push(token);
    }
    expect(missed).toEqual([]);
  });

  test("a vendor's own shape is found also where it is made up", () => {
    const inOrder = (count: number, at: number) => at % count;
    const lettersFirst = (count: number, at: number) => (at + 10) % count;
    const missed = tokenRules.flatMap(({ starts: [start = ""], body, confidence }) =>
      [inOrder, lettersFirst]
        .map((choose) => start + example(body, choose))
        .filter((token) => confidence !== "medium" && redact(`My key is ${token}`).includes(token.slice(-8))),
    );
    expect(missed).toEqual([]);
    for (const end of ["IOSFODNN7EXAMPLE", "1234567890ABCDEF", "TESTTESTTESTTEST"])
      expect(redact(`AKIA${end}`)).toBe("[REDACTED:aws_access_key_id:1]");
    for (const text of ["api_key=§", "token: '§'", "Authorization: Bearer §", "my api key is §"])
      for (const value of ["1234567890abcdef", "abcdefghijklmnopqrstuvwxyz123456", "abcdef1234567890abcdef1234567890"])
        expect(redact(text.replace("§", value))).not.toContain(value);
  });

  test("a token whose body is in hex is found where its vendor draws them so", () => {
    const hex = "86d834c846ab8108ce4b4f05c3511897065e1587";
    const tokens = ["glptt-", "sbp_", "sbp_oauth_"].map((start) => start + hex);
    for (const secret of [...tokens, `gloas-${hex}${hex.slice(16)}`, `bb_pr_${hex.slice(10)}`]) {
      expect(redact(`use ${secret} here`)).not.toContain(secret.slice(-20));
    }
    // Hashes behind a word stay.
    for (const hash of [`sha1-${hex}`, `commit-${hex}`]) expect(redact(`use ${hash} here`)).toContain(hash);
  });

  test("a token longer than documented is replaced to its end", () => {
    const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}Zz19`;
    expect(redact(`(${token})`)).toBe("([REDACTED:github_token:1])");
  });
});

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const password = `Velvet${"&"}8997`;
/** Letters and digits alternate. */
const drawnKey = (length: number) => Array.from({ length }, (_, i) => "q7kz3mW9pX2v"[(i * i + i * 5) % 12]).join("");

test("a token is found in what was encoded or cut", () => {
  for (const text of [
    `${token.slice(0, 9)}\u200b${token.slice(9)}`,
    `export T=${token.slice(0, 24)}\\\n${token.slice(24)}`,
  ]) {
    expect(redact(text)).toContain("[REDACTED:");
    expect(redact(text)).not.toContain(token.slice(-12));
  }
  expect(redact(`see ${Buffer.from(`GITHUB_TOKEN=${token}\n`).toString("base64")}`)).toBe(
    "see [REDACTED:base64_secret:1]",
  );
});

test("base64 that was wrapped is one text, wherever a secret stands in it; UTF-16 is text too", () => {
  for (const width of [64, 76]) {
    for (let before = 100; before < 180; before++) {
      const file = `${"a line of text\n".repeat(12).slice(0, before)}\nGITHUB_TOKEN=${token}\nand the rest of it, of some length\n`;
      const lines = (
        Buffer.from(file)
          .toString("base64")
          .match(new RegExp(`.{1,${width}}`, "g")) ?? []
      ).join("\n");
      expect(redact(`see\n${lines}\n`)).toBe("see\n[REDACTED:base64_secret:1]\n");
    }
  }
  for (const text of [`password=${password}; user=bob`, `Connect -Token ${token} -Force`]) {
    const encoded = Buffer.from(text, "utf16le").toString("base64");
    expect(redact(`powershell -EncodedCommand ${encoded}`)).not.toContain(encoded.slice(0, 40));
  }
});

test("a password is found in what was encoded", () => {
  const encoded = encodeURIComponent(password);
  const basic = Buffer.from(`bob:${password}`).toString("base64");
  for (const text of [
    `<password>${password.replace("&", "&amp;")}</password>`,
    `postgres://app:${encoded}@db.internal/x`,
    `Authorization: Basic ${basic}`,
  ]) {
    expect(redact(text)).toContain("[REDACTED:");
    for (const form of [password, encoded, basic]) expect(redact(text)).not.toContain(form);
  }
});

describe("a key is found", () => {
  test("in a long value of a second text, whatever the first text was", () => {
    const long = `a${drawnKey(160)}`;
    redact(`${"x".repeat(20)} password=${"y".repeat(2_000)}`);
    expect(redact(`${"x".repeat(40)} x.token=${long}`)).not.toContain(long.slice(-20));
  });

  test("in a private key, whole or cut off, with real or escaped line ends", () => {
    const lines = [1, 2, 3, 4].map((i) => `MIIEvQIBADANBgkqhkiG9w0BAQzlCMOpVTpnWlW9B9RB1F4kg/nsyovEF8047j${i}W`);
    const head = `-----BEGIN RSA PRIVATE${" "}KEY-----`;
    const tail = `-----END RSA PRIVATE${" "}KEY-----`;
    for (const short of ["MIIEvQIBADANBgkqh", "abc123def456"])
      for (const end of ["\n", "\\n"]) expect(redact(head + end + short + end + tail)).not.toContain(short);
    for (const dummy of ["", "...", "xxxxxxxx", "<your key>", '" + key + "'])
      expect(redact(`${head}\n${dummy}\n${tail}`)).toBe(`${head}\n${dummy}\n${tail}`);
    for (const text of [
      `${head}\n${lines.join("\n")}\n${tail}`,
      `{"key": "${head}\\n${lines.join("\\n")}\\n${tail}\\n"}`,
      `${head}\n${lines.join("\n")}\n\nWhat is wrong with it?`,
    ]) {
      const redacted = redact(text);
      for (const line of lines) expect(redacted).not.toContain(line.slice(0, 16));
    }
    expect(redact(`${head}\n${lines.join("\n")}\n\nWhat is wrong with it?`)).toEndWith("What is wrong with it?");
  });
});

const repeated = "Zx81kQpLm2vT";
describe("a value that was found by its name is replaced wherever it stands in the text", () => {
  test.each([
    ["behind it", `DB_PASSWORD=${repeated}\n$ psql -W ${repeated} -c 'select 1'`],
    ["before it", `I tried ${repeated} and it failed. DB_PASSWORD=${repeated}`],
    ["in quotes", `ADMIN_TOKEN=${repeated}9hJ4kL7s\nfetch(url, { headers: { "x-custom": "${repeated}9hJ4kL7s" } })`],
  ])("%s", (_, text) => {
    expect(redact(text)).not.toContain(repeated);
    expect(redact(text)).toMatch(/(\[REDACTED:\w+:1\])[\s\S]*\1/);
  });

  test("but not as a part of a longer word", () => {
    expect(redact(`DB_PASSWORD=${repeated}\nsee ${repeated}Extra`)).toEndWith(`see ${repeated}Extra`);
  });

  test("and not if it is a word that may stand there for itself", () => {
    expect(redact("password: correct-horse\nthe battery of the correct-horse")).toEndWith("the correct-horse");
    expect(redact("password: Release-2026\nwe are at Release-2026")).toEndWith("at Release-2026");
  });
});

test("words for an authentication scheme are read however many stand in a row", () => {
  for (const word of ["token ", "bearer: ", "key="]) expect(redact(word.repeat(20_000))).toBe(word.repeat(20_000));
});

test("text thousands of characters after a value, without a break, does not make it a dummy value", () => {
  const drawn = Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * 7_919) % 251)).toString("hex");
  expect(redact(`${["ghp", "x7Gk2mQ9vB4nR8tL1wZ5cJ3hF6yD0sA2pE4u"].join("_")}${drawn}example`)).toBe(
    "[REDACTED:github_token:1]",
  );
});

const cases = join(import.meta.dir, "../../../shared/secrets-dev/cases.jsonl");
describe.skipIf(!existsSync(cases))("the development cases (skipped where ../shared/secrets-dev is absent)", () => {
  interface Case {
    readonly id: string;
    readonly text: string;
    readonly secrets: readonly string[];
  }
  const decode = (encoded: string) =>
    Buffer.from(Buffer.from(encoded, "base64").map((byte) => byte ^ 0x2a)).toString("utf8");
  const all = (existsSync(cases) ? readFileSync(cases, "utf8").trim().split("\n") : []).map((line): Case => {
    const { id, text, secrets } = JSON.parse(line) as Case; // our own file, one object a line
    return { id, text: decode(text), secrets: secrets.map(decode) };
  });

  test("no secret survives", () => {
    const leaked = all.filter(({ text, secrets }) => secrets.some((secret) => redact(text).includes(secret)));
    expect(leaked.map(({ id }) => id)).toEqual([]);
  });

  test("no text without a secret is changed", () => {
    const changed = all.filter(({ text, secrets }) => secrets.length === 0 && redact(text) !== text);
    expect(changed.map(({ id }) => id)).toEqual([]);
  });
});
