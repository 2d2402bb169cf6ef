import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { keyedRules } from "#privacy/rules/keyed-rules.ts";
import { tokenRules } from "#privacy/rules/token-rules.ts";

const engine = privacyEngine(Policy.parse({}).privacy);
const redact = (text: string) => engine.redactText(text).text;

/** A text that matches a rule's pattern; letters and digits alternate. */
function example(pattern: string): string {
  let at = 0;
  let turn = 0;
  const sequence = (): string => {
    let out = "";
    while (at < pattern.length && pattern[at] !== ")" && pattern[at] !== "|") {
      const from = at;
      const piece = atom();
      const [least] = repetition();
      const after = at;
      for (let i = 0; i < least; i++) {
        if (i === 0) out += piece;
        else {
          at = from;
          out += atom();
          repetition();
          at = after;
        }
      }
      at = after;
    }
    while (pattern[at] === "|") {
      at++;
      sequence(); // alternatives after the first are parsed and omitted
    }
    return out;
  };
  const atom = (): string => {
    const c = pattern[at++] ?? "";
    if (c === "(") {
      at += pattern.startsWith("?:", at) ? 2 : 0;
      const inner = sequence();
      at++;
      return inner;
    }
    if (c === "[") {
      let set = "";
      const negated = pattern[at] === "^";
      while (pattern[at] !== "]") set += pattern[at] === "\\" ? `${pattern[at++]}${pattern[at++]}` : pattern[at++];
      at++;
      return negated ? drawn("A-Za-z0-9") : drawn(set);
    }
    if (c === "\\") {
      const escaped = pattern[at++] ?? "";
      return escaped === "d" ? drawn("0-9") : escaped === "w" ? drawn("A-Za-z0-9") : escaped;
    }
    return c;
  };
  const drawn = (set: string): string => {
    const characters = [...Array(94).keys()]
      .map((i) => String.fromCharCode(33 + i))
      .filter((c) => new RegExp(`[${set}]`).test(c));
    turn = (turn * 31 + 17) % 9_973;
    const kind = turn % 3 === 0 ? /\d/ : turn % 3 === 1 ? /[a-z]/ : /[A-Z]/;
    const fitting = characters.filter((c) => kind.test(c));
    const plain = characters.filter((c) => /[A-Za-z0-9]/.test(c));
    const from = fitting.length > 0 ? fitting : plain.length > 0 ? plain : characters.slice(0, 1);
    return from[turn % from.length] ?? "";
  };
  const repetition = (): readonly [number] => {
    if (pattern[at] === "?") {
      at++;
      return [0];
    }
    const braces = /^\{(\d+)(?:,(\d*))?\}/.exec(pattern.slice(at));
    if (braces === null) return [1];
    at += braces[0].length;
    const least = Number(braces[1]);
    return [least === 0 ? 0 : Math.max(least, Math.min(24, Number(braces[2] ?? least) || least))];
  };
  return sequence();
}

describe("the rules", () => {
  test("name every type once, in snake_case, with its documentation", () => {
    const all = [...tokenRules, ...keyedRules];
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const { id, docs } of all) {
      expect(id).toMatch(/^[a-z][a-z0-9_]{2,63}$/);
      expect(new URL(docs).protocol).toBe("https:");
    }
    expect(all.length).toBeGreaterThan(300);
  });

  for (const rule of tokenRules) {
    test(`${rule.id} is found by itself`, () => {
      const missed: string[] = [];
      for (const start of rule.starts.slice(0, 13)) {
        const token = start + example(rule.body);
        // Two rules may share a shape; it only matters that the token is replaced.
        if (redact(`run ./deploy.sh ${token} prod`).includes(token.slice(Math.min(start.length, token.length - 8))))
          missed.push(start);
      }
      expect(missed).toEqual([]);
    });
  }

  test("a token whose body is in hex is found where its vendor draws them so", () => {
    const hex = "86d834c846ab8108ce4b4f05c3511897065e1587";
    const tokens = ["glptt-", "sbp_", "sbp_oauth_"].map((start) => start + hex);
    for (const secret of [...tokens, `gloas-${hex}${hex.slice(16)}`, `bb_pr_${hex.slice(10)}`, `pk.${hex.slice(8)}`]) {
      expect(redact(`use ${secret} here`)).not.toContain(secret.slice(-20));
    }
    // Hashes behind a word stay.
    for (const hash of [`npm_${hex}`, `sha1-${hex}`, `commit-${hex}`])
      expect(redact(`use ${hash} here`)).toContain(hash);
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
const key = `d96ehmwwc620t9${"hzhkn7ph8o"}`;

describe("a token is found", () => {
  const places: Record<string, (secret: string) => string> = {
    "behind an escaped line end": (s) => `"a\\n${s}\\n"`,
    "behind %3D": (s) => `x%3D${s}%26y`,
    "between terminal colours": (s) => `\x1b[32m${s}\x1b[0m and \\u001b[31m${s}`,
    "between Chinese characters": (s) => `请看${s}。`,
    "in a table": (s) => `|a|${s}|b|`,
    "split by zero-width characters": (s) => `${s.slice(0, 9)}\u200b${s.slice(9)}`,
    "in JSON in JSON": (s) => JSON.stringify({ a: JSON.stringify({ b: s }) }),
    "in base64": (s) => `see ${Buffer.from(`GITHUB_TOKEN=${s}\n`).toString("base64")}`,
    "glued to a word": (s) => `prefix${s}`,
    "in the path of an address": (s) => `https://api.test/bot${s}/getMe`,
    "cut into two literals": (s) => `const t = "${s.slice(0, 12)}" + "${s.slice(12)}";`,
    "cut into three literals in three lines": (s) =>
      `t = ("${s.slice(0, 4)}"\n     "${s.slice(4, 22)}"\n     "${s.slice(22)}")`,
    "cut by a soft line break of a mail": (s) => `value:\n${s.slice(0, 24)}=\n${s.slice(24)}\n`,
    "cut by a continued line of a shell": (s) => `export T=${s.slice(0, 24)}\\\n${s.slice(24)}`,
    "in hex": (s) => `0x${Buffer.from(s).toString("hex")}`,
  };
  for (const [place, put] of Object.entries(places)) {
    test(place, () => {
      const text = put(token);
      const redacted = redact(text);
      expect(redacted).toContain("[REDACTED:");
      expect(redacted).not.toContain(token.slice(-12));
      if (place === "in base64") expect(redacted).toBe("see [REDACTED:base64_secret:1]");
    });
  }
});

describe("a password is found", () => {
  const places: Record<string, (secret: string) => string> = {
    "in a sentence": (s) => `the password for the admin account is ${s}, please help`,
    "in a German sentence": (s) => `Das Passwort lautet ${s}`,
    "in a Chinese sentence": (s) => `密码是 ${s}`,
    "in an .env file": (s) => `DB_PASSWORD=${s}`,
    "in YAML": (s) => `  password: "${s}"`,
    "in XML": (s) => `<password>${s.replace("&", "&amp;")}</password>`,
    "in a Kubernetes variable": (s) => `- name: DB_PASSWORD\n  value: "${s}"`,
    "in Terraform": (s) => `variable "db_password" {\n  type = string\n  default = "${s}"\n}`,
    "in a connection string": (s) => `Server=db;User Id=sa;Password=${s};Encrypt=true`,
    "in a URL": (s) => `postgres://app:${encodeURIComponent(s)}@db.internal/x`,
    "in SQL": (s) => `CREATE USER 'a'@'%' IDENTIFIED BY '${s}';`,
    "in a curl command": (s) => `curl -u admin:${s} https://x.test`,
    "in .netrc": (s) => `machine api.test login bob password ${s}`,
    "as the fallback of a variable": (s) => `process.env.DB_PASSWORD || "${s}"`,
    "in front of its name": (s) => `use ${s} as the password for now`,
    "below its name in a Markdown table": (s) => `| user | password |\n|---|---|\n| bob | ${s} |\n| eve | none |`,
    "below its name in a table of a database": (s) => ` user | password\n------+----------\n bob  | ${s}\n(1 row)`,
    "below its name in CSV": (s) => `username,password\nbob,${s}\n`,
    "typed by a test": (s) => `await page.fill('input[name="password"]', '${s}');`,
    "typed by another test": (s) => `cy.get('#password').type('${s}')`,
    "sent to a prompt": (s) => `expect "Password:"\nsend "${s}\\r"`,
    "for a share of a network": (s) => `net use Z: \\\\nas\\x /user:bob ${s}`,
    "piped to sudo": (s) => `echo '${s}' | sudo -S apt update`,
    "handed to sudo": (s) => `sudo -S <<< '${s}'`,
    "behind a label in tags": (s) => `<b>Password:</b> ${s.replace("&", "&amp;")}<br>`,
    "in an answer to a question": (s) => `root password on the NAS? it's ${s}`,
    "in a list": (s) => `passwords = ["${s}", "letmein"]`,
    "as an argument of PowerShell": (s) => `Set-ItemProperty -Path x -Name DefaultPassword -Value '${s}'`,
    "behind -u and -p": (s) => `cqlsh -u cassandra -p ${s} host`,
    "piped to passwd": (s) => `echo '${s}' | passwd --stdin bob`,
    "piped to a store of secrets": (s) => `echo '${s}' | docker secret create db_root -`,
    "printed into a store of secrets": (s) => `printf '%s' '${s}' | gh secret set DB_ROOT`,
    "inserted into a column": (s) => `INSERT INTO users (id, password) VALUES (1, '${s}');`,
    "inserted into a column, in the second row": (s) =>
      `insert into \`users\` (\`password\`, \`name\`) values (NULL, 'ann'), ('${s}', 'bob')`,
    "behind --auth": (s) => `http --auth bob:${s} GET x.test`,
    "in R": (s) => `password <- "${s}"`,
    "as what Rust falls back to": (s) => `env::var("PASS").unwrap_or("${s}".into())`,
    "in what a test expects": (s) => `expect(user.password).toBe("${s}")`,
    "in Swedish": (s) => `lösenordet är ${s}`,
    "in Ukrainian, with words between": (s) => `пароль до сервера: ${s}`,
    "in Vietnamese": (s) => `mật khẩu: ${s}`,
    "cut into two literals": (s) => `const password = "${s.slice(0, 8)}" + "${s.slice(8)}";`,
    "behind a name in another script": (s) => `パスワードは「${s}」です`,
    "in Polish": (s) => `Hasło: ${s}`,
    "behind an arrow": (s) => `Password → ${s}`,
    "behind a dash": (s) => `the admin password - ${s}`,
    "in the settings of a router": (s) => `username admin privilege 15 secret 0 ${s}`,
    "for a wireless network": (s) => `  psk="${s}"`,
    "in basic authentication": (s) => `Authorization: Basic ${Buffer.from(`bob:${s}`).toString("base64")}`,
  };
  for (const [place, put] of Object.entries(places)) {
    test(place, () => {
      const text = put(password);
      const redacted = redact(text);
      expect(redacted).toContain("[REDACTED:");
      for (const form of [password, encodeURIComponent(password), Buffer.from(`bob:${password}`).toString("base64")]) {
        expect(redacted).not.toContain(form);
      }
    });
  }
});

test("a password is found in an address that is a parameter of another", () => {
  const drawn = "N4qZ8vT1xW6kR3mB7y";
  for (const address of [`postgres://app:${drawn}@db.internal/app`, `https://bob:${drawn}@host.test:8443/x?y=1`]) {
    for (const text of [
      `https://x.test/?dsn=${encodeURIComponent(address)}&a=1`,
      `curl -d 'url=${encodeURIComponent(address).toLowerCase().replace(drawn.toLowerCase(), drawn)}' x`,
    ]) {
      expect(redact(text)).not.toContain(drawn);
    }
  }
  const address = "https://x.test/?mail=ann%40example.test&at=10%3A30%40noon";
  expect(redact(address)).toBe(address);
});

describe("a key is found", () => {
  for (const text of [
    `const INTERNAL_APIKEY = "${key}";`,
    `X-Api-Key: ${key}`,
    `Cookie: lang=de; sid=${key}`,
    `{"name": "Cookie", "value": "lang=de; connect.sid=s%3A${key}"}`,
    `INSERT INTO api_keys (name, api_key) VALUES ('ci', '${key}');`,
    `https://x.test/?a=1&api_key=${key}&b=2`,
    `| api key | ${key} |`,
    `--client-secret ${key}`,
    `{"access_token":"${key}"}`,
    `My API key is ${key}, why do I get a 403?`,
    `Dim ServiceApiKey As String = "${key}"`,
    `const char api_key[] = "${key}";`,
    `\x1b[36mAPI_KEY\x1b[0m=\x1b[33m${key}\x1b[0m`,
    `<key>apiKey</key>\n<string>${key}</string>`,
    `let api_key = String::from("${key}");`,
    `git config --global app.apiKey ${key}`,
    `API key:\n${key}`,
    `define('AUTH_KEY',          '${key}');`,
    `csrf_secret: ${key}`,
    `bearer: ${key}`,
    `https://a.blob.core.windows.net/c/f?sp=r&sig=i7wibLQ9%2F%2B${key}q%3D`,
    `API_KEY ?= ${key}`,
    `{"minio_sk":"${key}"}`,
    `the API token you gave me (${key}) expired?`,
    `aws ssm put-parameter --name /app/token --type SecureString --value "${key}"`,
    `id,api_token\n7,${key}\n8,none`,
  ]) {
    test(text.replace(key, "…"), () => expect(redact(text)).not.toContain(key));
  }

  test("of one case, under a name that says what it opens, and not under one that names a place", () => {
    const drawn = "59jua35yp2fmgtq932vld88q6arn93qi";
    for (const value of [drawn, drawn.toUpperCase()]) {
      for (const text of [`ACME_KEY=${value}\n`, `const acmeKey = "${value}";`, `{"acme_key": "${value}"}`]) {
        expect(redact(text)).not.toContain(value);
      }
      for (const text of [`{"key": "${value}"}`, `cache_key: ${value}\n`, `sortKey = "${value}"`]) {
        expect(redact(text)).toContain(value);
      }
    }
    const hash = "86d834c846ab8108ce4b4f05c3511897065e1587";
    expect(redact(`blob_key = "${hash}"`)).toContain(hash);
  });

  test("in a long value of a second text, whatever the first text was", () => {
    const long = `a${drawnKey(160)}`;
    redact(`${"x".repeat(20)} password=${"y".repeat(2_000)}`);
    expect(redact(`${"x".repeat(40)} x.token=${long}`)).not.toContain(long.slice(-20));
  });

  test("in groups of four, as authenticators and mail accounts show them", () => {
    for (const groups of [
      "dfxx jopx ugys ksmn",
      "7T3V JYXO MBFX Z7GU KLSP AOE5 LRR3 7ZHX",
      "5jG0 SjBv LP2y TaGi qvVU PFpl",
    ])
      for (const text of [`const gmailAppPassword = '${groups}';`, `my app password is ${groups}, what now?`])
        expect(redact(text)).not.toContain(groups.slice(5));
  });

  test("in a private key, whole or cut off, with real or escaped line ends", () => {
    const lines = [1, 2, 3, 4].map((i) => `MIIEvQIBADANBgkqhkiG9w0BAQzlCMOpVTpnWlW9B9RB1F4kg/nsyovEF8047j${i}W`);
    const head = `-----BEGIN RSA PRIVATE${" "}KEY-----`;
    const tail = `-----END RSA PRIVATE${" "}KEY-----`;
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

describe("is not changed:", () => {
  for (const text of [
    "request_id=ce5709bc-c8a3-42d8-b377-094bea374179 took 31ms",
    "git cherry-pick 9e11c0768af86c5973a4b8d8110ddd0279aaf404",
    '"integrity": "sha512-H3+xvBdTXFz+h767aLwe1TI4Wo9BAzEKnUDzbz31dwfyCnacP5eEXRr80Pth+voHyKw+ErUppJ+GQ/njv5i3IA=="',
    "image: registry.test/app@sha256:7ad580f3caa4270743e49298fa1fc242405859bcc8e567fedc706fd29ee16a4f",
    "const password = req.body.password;",
    "export API_KEY=$OTHER_API_KEY",
    `AWS_SECRET_ACCESS_KEY: ${"$"}{{ secrets.AWS_SECRET_ACCESS_KEY }}`,
    "The password is stored as a salted hash; we never log it.",
    'API_TOKEN="your_api_token_goes_here"',
    "gsk_render_node_serialize_to_bytes_async",
    "max_tokens: 4096, temperature: 0.2",
    "docker run -u 1000 -p 8080:80 app && mkdir -p /srv/app2",
    "arn:aws:secretsmanager:eu-west-1:006956433971:secret:prod/db-8HAuCU",
    "git log -p -S password --since=2024-01-01",
    "| field | password |\n|---|---|\n| type | string |\n| length | 12 |",
    "name,token,count\nfoo,identifier,3\nbar,keyword,7",
    "Enter the password, then press return. Is the password field empty?",
    `const t = "a long piece of text " + "and the rest of it";`,
    "Der Abschnitt password (siehe oben) fehlt",
    "msg_01GSjNXDyPcmUEuKQM4SAprj and toolu_011JgDUrACjkDBWJNO1i56sQ",
    "postgres://app:***@db.internal:5432/orders",
    "the data source app-Zq9Lm2x@tcp(db) has no password",
    "What is the difference between an access token and a refresh token?",
    "Pass the key to the parser, then pass2 to the second stage",
    `data:image/png;base64,iVBORw0KGgoAAAANSUhEUg${"Y4cKChyk".repeat(20)}`,
    "password = models.CharField(max_length=128)",
    "INSERT INTO users (id, password_hash, token_count) VALUES (7, crypt(md5, 'x'), 4096);",
    "SHA256 (build/secrets.tar.gz) = 5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99",
    "md5(password.txt) = 5f4dcc3b5aa765d61d8327deb882cf99",
    " b315373358c40702793925595dd00d052107f048 vendor/secrets-lib (v1.2.0-3-gb315373)",
    "-----BEGIN PUBLIC KEY-----\nMIIBYXpwp1HP2xcClJFNs3Tn7VZcQOUw0aPsxp2xyJrfFzpzS11Bi8ozwet+8hQe\n-----END PUBLIC KEY-----",
  ]) {
    test(text.slice(0, 60), () => expect(redact(text)).toBe(text));
  }
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
