import { describe, expect, test } from "bun:test";
import { Policy } from "#policy/schema.ts";
import { privacyEngine } from "#privacy/engine.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

const drawn = "Zx81kQpLm2vT";

describe("a value that was found by its name is replaced wherever it stands in the text", () => {
  test.each([
    ["behind it", `DB_PASSWORD=${drawn}\n$ psql -W ${drawn} -c 'select 1'`],
    ["before it", `I tried ${drawn} and it failed. DB_PASSWORD=${drawn}`],
    ["in quotes", `ADMIN_TOKEN=${drawn}9hJ4kL7s\nfetch(url, { headers: { "x-custom": "${drawn}9hJ4kL7s" } })`],
  ])("%s", (_, text) => {
    expect(redact(text)).not.toContain(drawn);
    expect(redact(text)).toMatch(/(\[REDACTED:\w+:1\])[\s\S]*\1/);
  });

  test("but not as a part of a longer word", () => {
    expect(redact(`DB_PASSWORD=${drawn}\nsee ${drawn}Extra`)).toEndWith(`see ${drawn}Extra`);
  });

  test("and not if it is a word that may stand there for itself", () => {
    expect(redact("password: correct-horse\nthe battery of the correct-horse")).toEndWith("the correct-horse");
    expect(redact("password: Release-2026\nwe are at Release-2026")).toEndWith("at Release-2026");
  });
});
