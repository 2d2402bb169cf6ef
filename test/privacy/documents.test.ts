import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { tokenRules } from "#privacy/rules/token-rules.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

/** No piece of a document that is as long as half a line may remain. */
function expectGone(text: string, secret: string) {
  const redacted = redact(text);
  expect(redacted).toContain("[REDACTED:");
  for (let i = 0; i + 24 <= secret.length; i += 4) expect(redacted).not.toContain(secret.slice(i, i + 24));
}

const lines = (text: string, width: number) => text.match(new RegExp(`.{1,${width}}`, "g"))?.join("\n") ?? "";

describe("a private key without BEGIN and END lines is found", () => {
  const keys: Record<string, () => Buffer> = {
    "RSA, PKCS #8": () =>
      generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export({ type: "pkcs8", format: "der" }),
    "RSA, PKCS #1": () =>
      generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export({ type: "pkcs1", format: "der" }),
    "P-256, PKCS #8": () =>
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "der" }),
    "P-256, SEC 1": () =>
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "der" }),
    "P-521, PKCS #8": () =>
      generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey.export({ type: "pkcs8", format: "der" }),
    "Ed25519, PKCS #8": () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "der" }),
  };
  for (const [name, make] of Object.entries(keys)) {
    test(name, () => {
      const encoded = make().toString("base64");
      expectGone(`see ${encoded} please`, encoded);
      expectGone(`see\n${lines(encoded, 64)}\nplease`, encoded.slice(0, 64));
    });
  }

  // A version, the length of the key, and bytes that are `+` and `/` in base64 in every few characters.
  test("with base64 symbols in every few characters of its first line", () => {
    for (const head of ["MHcCAQEEI", "MIGkAgEBBDD", "MIHcAgEBBEI"]) {
      const encoded = `${head}${"Qx7+kP2/vT".repeat(16)}`.slice(0, 160);
      for (const [before, after] of [
        ["see\n", "\nplease"],
        ["a/b/c see ", "\n"],
        ["+", "\n"],
        ['{"key":"', '"}'],
      ]) {
        expectGone(`${before}${encoded}${after}`, encoded);
        expectGone(`${before}${lines(encoded, 64)}${after}`, encoded.slice(0, 64));
      }
    }
  });

  test("but not a public key", () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const encoded = publicKey.export({ type: "spki", format: "der" }).toString("base64");
    expect(redact(`public key ${encoded}`)).toBe(`public key ${encoded}`);
  });

  test("in the format of SSH Communications Security", () => {
    const body = lines(
      Buffer.from("P2/56wAAAgIAAAAmZGwtbW9kcHtzaWdue2RzYS1uaXN0LXNoYTF9LGRoe3BsYWlufX0").toString("base64"),
      48,
    );
    const text = `---- BEGIN SSH2 ENCRYPTED ${"PRIVATE"} KEY ----\nComment: "x"\n${body}\n---- END SSH2 ENCRYPTED ${"PRIVATE"} KEY ----\nok?`;
    expectGone(text, body);
    expect(redact(text)).toEndWith("KEY ----\nok?");
  });
});

test("the documentation has the right number of types", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/privacy.md"), "utf8");
  expect(page).toContain(`| shape | ${tokenRules.length} types:`);
});
