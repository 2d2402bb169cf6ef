import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

const token = "ghp_" + "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o";
const body = token.slice(4);
const key = "Zq7Lm2Xw9Rt4Vb6Nc8Jd";

function expectGone(text: string, secret = token) {
  const out = redact(text);
  for (let i = 0; i + 8 <= secret.length; i++) expect(out).not.toContain(secret.slice(i, i + 8));
  expect(redact(out)).toBe(out);
}

describe("a token is found with terminal colours inside", () => {
  for (const [name, on, off] of [
    ["by grep", "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"],
    ["by ripgrep", "\x1b[0m\x1b[1m\x1b[31m", "\x1b[0m"],
    ["and escaped in JSON", "\\u001b[01;31m\\u001b[K", "\\u001b[m\\u001b[K"],
    ["and escaped for a shell", "\\033[31m", "\\033[0m"],
  ] as const)
    test(name, () => {
      expectGone(`a.env:GITHUB=${on}ghp_${off}${body}\n`);
      expectGone(`found ${token.slice(0, 12)}${on}${token.slice(12, 17)}${off}${token.slice(17)} there`);
      expectGone(`${on}API${off}_KEY=${key}\n`, key);
      expectGone(`API_KEY=${key.slice(0, 6)}${on}${key.slice(6, 9)}${off}${key.slice(9)}\n`, key);
    });

  test("and colours around words change nothing else", () => {
    for (const text of [
      "\x1b[36mINFO\x1b[0m[0012] token \x1b[36mkind\x1b[0m=value",
      "\x1b[31m-\x1b[m\x1b[31mconst token = read(name);\x1b[m",
    ])
      expect(redact(text)).toBe(text);
  });
});

describe("a token is found with characters inside that cannot be seen", () => {
  const letter = /^\p{Default_Ignorable_Code_Point}$/u;
  const invisible = Array.from({ length: 0xe1000 }, (_, code) => code).filter(
    (code) => (code < 0xd800 || code > 0xdfff) && letter.test(String.fromCodePoint(code)),
  );

  test("whichever character of Unicode without width it is", () => {
    expect(invisible.length).toBeGreaterThan(4_000);
    const hiding = invisible.filter((code) => {
      const text = `key ${token.slice(0, 9)}${String.fromCodePoint(code)}${token.slice(9)} end`;
      return redact(text) !== "key [REDACTED:github_token:1] end";
    });
    expect(hiding.map((code) => code.toString(16))).toEqual([]);
  });

  test("a tag, a change of direction or a zero-width space behind each letter", () => {
    for (const mark of ["\u{e0041}", "\u202e", "\u200b", "\u{e0020}\u2067"]) {
      expectGone(`key ${[...token].join(mark)} end`);
      expectGone(`API_KEY=${[...key].join(mark)}\n`, key);
    }
  });

  test("as an HTML entity or an escape", () => {
    for (const mark of ["&#8203;", "&#x202e;", "&#xE0041;", "\\u200b", "\\u202e", "\\u0000"])
      expectGone(`key ${token.slice(0, 9)}${mark}${token.slice(9)} end`);
  });

  test("the NULs of UTF-16 that was read as UTF-8", () => {
    const wide = (text: string) => Buffer.from(text, "utf16le").toString("utf8");
    expectGone(wide(`the token is ${token}\r\n`));
    expect(redact(wide(`the token is ${token}\r\n`))).not.toContain(wide(body.slice(0, 9)));
    expect(redact(wide(`API_KEY=${key}\n`))).not.toContain(wide(key.slice(0, 8)));
    for (const harmless of [wide("nothing secret here, only words\n"), "a\0b", "\0\0\0", "x\u{e0041}y"])
      expect(redact(harmless)).toBe(harmless);
  });
});

test("a token is found where `_`, `-`, `.` in it are percent-encoded", () => {
  expectGone(`https://x.test/?u=ghp%5F${body}&v=1`);
  expectGone(`ghp%5f${body}`);
  const slack = ["xoxb", "263594206564", "2343594206574", "FGqddMF8t08v8N7Oq4i57vs1"].join("%2D");
  expect(redact(`t=${slack}`)).not.toContain("FGqddMF8");
});

test("a token or a name is found with letters that look like Latin ones", () => {
  for (const [latin, twin] of ["p\u0440", "h\u04bb", "g\u0261", "X\u0425", "o\u043e", "o\u03bf"].map((pair) => [
    ...pair,
  ])) {
    const disguised = `key ${token.replace(latin ?? "", twin ?? "")} end`;
    expect(redact(disguised)).toBe("key [REDACTED:github_token:1] end");
  }
  for (const start of ["\u0410KIA", "AK\u0406A", "\u0391\u039aIA"])
    expect(redact(`${start}${"W7LWFKN6WPOHDWLE"}`)).toBe("[REDACTED:aws_access_key_id:1]");
  expectGone(`api_k\u0435y=${key}`, key);
});

test("words of another script beside a token or a mark of one are not a finding", () => {
  expect(redact(`ключ${token} да`)).toBe("ключ[REDACTED:github_token:1] да");
  expect(redact(`наAKIA${"W7LWFKN6WPOHDWLE"}`)).toBe("на[REDACTED:aws_access_key_id:1]");
  for (const text of ["Проверка сети и ключа API", "αβγ x ρ2 και"]) expect(redact(text)).toBe(text);
});
