import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { keyedRules } from "#privacy/rules/keyed-rules.ts";
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

/** The answer of an identity provider, as its library writes it. */
const answers: Record<string, string> = {
  samlp: `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_8e8dc5f69a98cc4c1ff3427e5ce34606" Version="2.0"><saml:Issuer>https://idp.corp.test</saml:Issuer><ds:SignatureValue>Rk3gV9q0sY7mWz2TjC4hXb8nLd5pQf1a</ds:SignatureValue><saml:NameID>jörg@corp.test</saml:NameID></samlp:Response>`,
  saml2p: `<saml2p:Response xmlns:saml2p="urn:oasis:names:tc:SAML:2.0:protocol" Destination="https://sp.corp.test/acs"><saml2:Issuer>https://idp.corp.test</saml2:Issuer><ds:SignatureValue>Rk3gV9q0sY7mWz2TjC4hXb8nLd5pQf1a</ds:SignatureValue></saml2p:Response>`,
  "with an XML declaration": `<?xml version="1.0" encoding="UTF-8"?>\n<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1f"><saml:Assertion>Rk3gV9q0sY7mWz2TjC4hXb8nLd5pQf1a</saml:Assertion></samlp:Response>`,
  "in its own namespace": `<Response xmlns="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1f"><Assertion>Rk3gV9q0sY7mWz2TjC4hXb8nLd5pQf1a</Assertion></Response>`,
};

describe("the answer of an identity provider is found", () => {
  for (const [name, answer] of Object.entries(answers)) {
    const encoded = Buffer.from(answer).toString("base64");
    const deflated = deflateRawSync(answer).toString("base64");
    const places: Record<string, readonly [text: string, secret: string]> = {
      "in a form": [`SAMLResponse=${encodeURIComponent(encoded)}&RelayState=x`, encodeURIComponent(encoded)],
      "in JSON": [JSON.stringify({ SAMLResponse: encoded }), encoded],
      "in HTML": [`<input type="hidden" name="SAMLResponse" value="${encoded}"/>`, encoded],
      "in a sentence, without its name": [`we got ${encoded} back, why?`, encoded],
      "in lines": [`SAMLResponse:\n${lines(encoded, 76)}\n\nWhy?`, encoded.slice(0, 76)],
      "in lines, without its name": [`here:\n${lines(encoded, 64)}\nWhy?`, encoded.slice(64, 128)],
      "in lines, escaped in JSON": [JSON.stringify({ body: lines(encoded, 76) }), encoded.slice(76, 152)],
      "compressed, in an address": [
        `https://sp.corp.test/acs?SAMLResponse=${encodeURIComponent(deflated)}&Signature=x`,
        encodeURIComponent(deflated),
      ],
      "compressed, as a request": [
        `https://idp.corp.test/sso?SAMLRequest=${encodeURIComponent(deflated)}`,
        encodeURIComponent(deflated),
      ],
      "compressed, in an address in an address": [
        `next=${encodeURIComponent(`https://sp.corp.test/acs?SAMLResponse=${encodeURIComponent(deflated)}`)}`,
        encodeURIComponent(encodeURIComponent(deflated)),
      ],
    };
    for (const [place, [text, secret]] of Object.entries(places))
      test(`${name}: ${place}`, () => expectGone(text, secret));
  }

  test("but not text that only mentions it", () => {
    for (const text of [
      "The SAMLResponse parameter is missing from the request.",
      `SAMLResponse=${"$"}{response}&RelayState=${"$"}{state}`,
      '<input type="hidden" name="SAMLResponse" value=""/>',
      Buffer.from("<html><body><p>Nothing to see in this page at all.</p></body></html>").toString("base64"),
    ])
      expect(redact(text)).toBe(text);
  });

  test("and the text after it stays", () => {
    const encoded = Buffer.from(answers["samlp"] ?? "").toString("base64");
    expect(redact(`here:\n${lines(encoded, 76)}\n\nWhat is wrong?`)).toBe(
      "here:\n[REDACTED:saml_response:1]\n\nWhat is wrong?",
    );
  });
});

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
  expect(page).toContain(`| ${tokenRules.length} types:`);
  expect(page).toContain(`| ${keyedRules.length} types,`);
});
