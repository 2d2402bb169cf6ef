import { describe, expect, test } from "bun:test";
import { redact } from "smart-gateway/privacy";
import { Policy } from "#config/policy.ts";
import { checkCustomRules, privacyEngine } from "#privacy/engine.ts";
import { createRestorer } from "#privacy/restore/restore.ts";

const token = `ghp_${"gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"}`;
const engineOf = (privacy: object, exact: Parameters<typeof privacyEngine>[1] = []) =>
  privacyEngine(Policy.parse({ privacy }).privacy, exact);

describe("a policy", () => {
  test("can switch a rule off by name, which the engine reports", () => {
    const engine = engineOf({ disabled_rules: ["github_token"] });
    expect(engine.redactText(`see ${token}`).text).toBe(`see ${token}`);
    expect(engine.disabledRules).toEqual(["github_token"]);
  });

  test("can allow exact values, and nothing that only resembles them", () => {
    const engine = engineOf({ allow: [token] });
    expect(engine.redactText(`see ${token}`).findings).toEqual([]);
    expect(engine.redactText(`see ${token.slice(0, -1)}x`).findings).toHaveLength(1);
  });

  test("can switch redaction off", () => {
    expect(engineOf({ redact: false }).redactText(token).findings).toEqual([]);
  });

  test("can add rules; group 1 is the secret if there is one", () => {
    const engine = engineOf({
      custom_rules: [
        { id: "employee_number", pattern: "EMP-\\d{6}" },
        { id: "door_code", pattern: "door code (\\d{4})" },
      ],
    });
    expect(engine.redactText("EMP-123456 uses door code 4711").text).toBe(
      "[REDACTED:employee_number:1] uses door code [REDACTED:door_code:2]",
    );
  });

  test("has the gateway's own credentials replaced everywhere, encoded or not", () => {
    const value = "hunter/two plus three";
    const engine = engineOf({}, [{ rule: "upstream_key", value }]);
    for (const form of [value, encodeURIComponent(value), Buffer.from(value).toString("base64")]) {
      expect(engine.redactText(`x ${form} y`).text).toStartWith("x [REDACTED:upstream_key:1]");
    }
  });
});

describe("custom rules", () => {
  const problemsOf = (pattern: string) => checkCustomRules([{ id: "mine", pattern }]).map(({ problem }) => problem);

  test("are refused if they are no regular expression, match the empty text, or need to look ahead or back", () => {
    for (const pattern of ["(", "(?=a)ab", "(a)\\1"])
      expect(problemsOf(pattern)).toEqual([expect.stringContaining("not a regular expression that takes linear time")]);
    expect(problemsOf("a*")).toEqual(["matches the empty text"]);
  });

  test("are refused if two have the same id", () => {
    const rule = { id: "mine", pattern: "EMP-\\d{6}" };
    expect(checkCustomRules([rule, rule])).toEqual([{ rule: "mine", problem: "another rule has the same id" }]);
  });

  test("find every match, also across the pieces in which a long text is searched", () => {
    const engine = engineOf({ custom_rules: [{ id: "mine", pattern: "(?<![A-Z])EMP-\\d{6}" }] });
    const filler = "nothing to see here, ".repeat(97);
    const text = Array.from({ length: 40 }, (_, i) => `${filler}EMP-${100_000 + i}`).join("");
    expect(engine.redactText(text).text.match(/\[REDACTED:mine:\d+\]/g)).toHaveLength(40);
    expect(engine.redactText("TEMP-123456").text).toBe("TEMP-123456");
  });

  test("take linear time whatever their pattern", () => {
    const engine = engineOf({ custom_rules: [{ id: "mine", pattern: "(a+)+b" }] });
    const text = "a".repeat(200_000);
    expect(engine.redactText(text).text).toBe(text);
  });
});

describe("personal data", () => {
  const engine = engineOf({ personal_data: true });
  const examples: Record<string, readonly [string, string]> = {
    email_address: ["write to jane.doe@corp.test today", "jane.doe@corp.test"],
    phone_number: ["call +49 30 1234567 now", "+49 30 1234567"],
    payment_card: ["card 4111 1111 1111 1111 ok", "4111 1111 1111 1111"],
    iban: ["to DE89 3704 0044 0532 0130 00 please", "DE89 3704 0044 0532 0130 00"],
    us_social_security_number: ["ssn 078-05-1120.", "078-05-1120"],
    spanish_national_id: ["dni 12345678Z,", "12345678Z"],
    brazilian_cpf: ["cpf 529.982.247-25 ok", "529.982.247-25"],
    ip_address: ["from 203.0.113.7 at", "203.0.113.7"],
  };
  for (const [rule, [text, value]] of Object.entries(examples)) {
    test(`${rule} is replaced`, () => {
      expect(engine.redactText(text).text).toBe(text.replace(value, `[REDACTED:${rule}:1]`));
    });
    test(`${rule} is not replaced by default`, () => {
      expect(engineOf({}).redactText(text).text).toBe(text);
    });
  }

  test("is not replaced with a wrong check digit", () => {
    for (const text of [
      "card 4111 1111 1111 1112 ok",
      "to DE89 3704 0044 0532 0130 01 please",
      "dni 12345678A,",
      "at 12:34:56 v1.2.3",
    ]) {
      expect(engine.redactText(text).text).toBe(text);
    }
  });
});

describe("an answer is restored", () => {
  const restore = createRestorer(new Map([["[REDACTED:github_token:1]", token]]));

  test("without holding text back longer than a placeholder can be", () => {
    const stream = restore.stream();
    expect(stream.push("see [REDACTED:git")).toBe("see ");
    expect(stream.push("hub_token:1] and [")).toBe(`${token} and `);
    expect(stream.push(`${"x".repeat(200)}`)).toBe(`[${"x".repeat(200)}`);
    expect(stream.flush()).toBe("");
  });
});

test("the package exports a function that redacts a text under the default policy", () => {
  const token = `${"ghp"}_n5JmYbL0kWq8sVdXc3RtGh7PfZa2Ue4oBi`;
  expect(redact(`see ${token}`).text).toBe("see [REDACTED:github_token:1]");
});
