import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Policy } from "#config/policy.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { privacyEngine } from "#privacy/engine.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

/** Lines of programs without any credential, in the style of former false positives. */
const lines: Readonly<Record<string, readonly string[]>> = {
  "a method behind a variable of one letter": [
    "\tif !s.ReadUint16LengthPrefixed(&out) {",
    "\treturn b.collectDwarf5BaseOffsets(unit)",
    "// acts like r.skipUint24LengthPrefixed, but stops",
  ],
  "names of functions, types and constants": [
    "def test_undefinedExceptionNameInCatchFalsePositive1(self):",
    "from security import OAuth2AuthorizationCodeBearer as OAuth2AuthorizationCodeBearer",
    "exports.CreateOAuth2TokenCommand = CreateOAuth2TokenCommand;",
    "\tPrivateKey: testRSA2048PrivateKey,",
    "config.Certificates[0].PrivateKey = testEd25519PrivateKey",
    "    private_key: PKCS7PrivateKeyTypes,",
    "type Bag = PrivateKeyInfo | PKCS8ShroudedKeyBag | SecretBag;",
    "    privateKey: PRIVATE_KEY$1,",
    "constructor(credentials: ServiceCredentials, subscriptionId: string) {}",
    "if len(key) != x25519PrivateKeySize {",
    `    "encryptionKey768": "encryptionKey1024",`,
    "('OAUTH2_CLIENT_SECRET_SHA256', 'oauth2ClientSecretSha256'),",
    "namespace = secrets.oauth2client:secrets#ns",
    "KeyUsage: x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,",
    `  'image_pull_secrets': 'list[V1LocalObjectReference]',`,
    `"AWS::IAM::AccessKey": "62d91b17309e76c8",`,
    "'PW' => CountryIso3Enum::PLW,",
  ],
  "the name of a variable, to be looked up": [
    `key = get_secret_str("OVHCLOUD_API_KEY")`,
    `token = lookup("GITHUB_TOKEN_V2")`,
    `secret_name: "PROD_DB2_PASSWORD"`,
  ],
  "what a call asks for": ["const der = privateKey.exportKey('pkcs8-pem');", `await store.getSecret("billing-key-2");`],
  expressions: [
    `cmd.Env = append(cmd.Env, "PWD="+tc.pwd)`,
    `url := "https://x.test/?token="+url.QueryEscape(id2)`,
    "    pw = pw[:-1]",
    "    pw = [1]*N",
    "self.password = cfg.get('password')",
    "run(fd, pass_fds=(0,1,2,fp.fileno()))",
    "remaining in their places--pass `strict=False`. To produce",
    "$scopeToPass = $scopeToPass->assignVariable('this', $x);",
    "my $pwd = CPAN::anycwd();",
    "for(b in{radio:!0,password:!0,image:!0})d[b]=la(b);",
    "\tSecret: Bug4Secret{1},",
    "    self.connect(host, security_token, path=path)",
    "'-----BEGIN PRIVATE KEY-----\\n' +\n  Buffer.from(exported).toString('base64').match(/.{1,64}/g)",
  ],
  "types and choices": [
    "matcher: (value) => ({ pass: true|false, message: () => string })",
    "'ldap_passwd' => ['string|bool', 'link' => 'resource'],",
  ],
  "patterns that are filled in": [
    "db_key = '{0}-{1:015d}'",
    `toolskey = "VS%0.f0COMNTOOLS" % version`,
    "new_token = f\"{group_name}@{page[-1]['name']}\"",
    "'^(?P<secret>[a-zA-Z0-9-_]+):(?P<version>[1-9][0-9]*|latest)$'",
  ],
  numbers: [
    "    readonly STENCIL_BACK_PASS_DEPTH_FAIL: 0x8802;",
    "\tSIOCGLIFTOKEN = -0x3f879678",
    "#define TEST_PASS\t\t0x00800000",
    `{token.FLOAT, "2.71828e-1000", literal},`,
    "      TOKEN_IMPERSONATION_OR_THEFT: T1134.001",
  ],
  "names of algorithms, hosts, options": [
    `equal(privateKey.asymmetricKeyDetails.namedCurve, 'prime256v1', 'should use P-256');`,
    `('http', 'user/name', 'password', 'localhost:22')`,
    `['ssl_key.passwd.pem','-aes256','-passout'],`,
    `"GET ../../../../etc/passwd HTTP/1.1\\r\\n"`,
    `#include <pwd.h>\n#include <grp.h>`,
    `MovedAttribute("HTTPPasswordMgr", "urllib2", "urllib.request"),`,
    `'USERPWD', 'HTTP200ALIASES', 'FILE'`,
    "mock.patch.object(pwd, 'getpwuid', return_value=1)",
  ],
  "what is public": [
    `<assemblyIdentity name="System.Web" publicKeyToken="b03f5f7f11d50a3a" />`,
    `{ kid: "1", key: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Olb3zMAFFxXKHiIkQO5cJ3Yhl5i6UPp+IhuteBJbuHcA5UogKo0EWtlWwW6KSaKoTNEYL7JlCQiVnkhBktUgg==" }`,
    "CLI_CLIENT_ID = 'cl_Q7mZpLw2VxTnRk9BcYdFh4GsJt6NaEuX'",
  ],
  "prose with a verb of SQL": [
    `# "x-mac-hebrew" is also identified as windows-1255. A text`,
    "(as identified by boto3) is used.",
  ],
  data: [
    `IDEz Li4uPw== IDM4NQ== IHJl 5pw= c2VjdG9y IFJv`,
    `Gx: bigFromHex("00b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21"),`,
    `var index = ["A4kBAAAAAAAD", "AAAAAAAAAAAAAAAAAAAAAALQugAA8L8AAAAEz7oAAO+/AABq7wAA/vEAAAACae8AAP3xAAA="]`,
  ],
};

describe("code is not changed:", () => {
  for (const [kind, texts] of Object.entries(lines))
    test(kind, () => {
      for (const text of texts) expect(redact(text)).toBe(text);
    });
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
const keyPlaces: readonly ((key: string) => string)[] = [
  (key) => `PAYMENT_API_KEY=${key}\n`,
  (key) => `export SERVICE_TOKEN="${key}"\n`,
  (key) => `server:\n  api_key: ${key}\n`,
  (key) => `{"clientId": "web", "clientSecret": "${key}"}`,
  (key) => `client = Client(api_key="${key}", timeout=3)\n`,
  (key) => `const apiKey: string = "${key}";\n`,
  (key) => `\tcfg := Config{APIKey: "${key}", Region: "eu"}\n`,
  (key) => `private static final String API_KEY = "${key}";\n`,
  (key) => `curl -H "X-Api-Key: ${key}" https://api.corp.test/v1\n`,
  (key) => `<add key="ApiKey" value="${key}" />\n`,
  (key) => `The api key for staging is ${key}, please rotate it.\n`,
  (key) => `- name: JWT_SECRET\n  value: ${key}\n`,
  (key) => `app.security.private-key=${key}\n`,
  (key) => `client.setApiKey("${key}");\n`,
  (key) => `url = "https://x.test/cb?access_token=${key}&state=1" + tail\n`,
];
const passwords = [
  "hunter2!!",
  "LetMeIn99",
  "dbPass_2024",
  "SuperSecret42!",
  "Bluebird7Cactus9",
  "a8F!kd02",
  "pr0d-db-Xk29",
  "vT4-mmQ-91z",
  "Zebra.Lamp.42",
  "m0nk3yBusiness",
];
const passwordPlaces: readonly ((password: string) => string)[] = [
  (password) => `DB_PASSWORD=${password}\n`,
  (password) => `database:\n  password: ${password}\n`,
  (password) => `{"user":"app","password":"${password}"}`,
  (password) => `conn = connect(user="app", password="${password}")\n`,
  (password) => `\tPassword: "${password}",\n`,
  (password) => `spring.datasource.password=${password}\n`,
  (password) => `Server=db;User Id=app;Password=${password};Timeout=3\n`,
  (password) => `await page.fill('#password', '${password}');\n`,
];

describe("beside code, a credential is found:", () => {
  for (const [kind, [alphabet, length]] of Object.entries(alphabets))
    test(kind, () => {
      const random = seededRandom(length);
      for (const place of keyPlaces) {
        const key = Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
        expect(redact(place(key))).not.toContain(key.slice(0, length / 2));
      }
    });

  test("passwords that people choose", () => {
    for (const place of passwordPlaces)
      for (const password of passwords) expect(redact(place(password))).not.toContain(password);
  });
});
