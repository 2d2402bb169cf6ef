import { merged, type Scan, type Span } from "./spans.ts";

const tokens: readonly (readonly [string, RegExp])[] = [
  ["aws_access_key_id", /(?<![A-Za-z0-9])A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}/g],
  ["github_token", /gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{82}/g],
  ["gitlab_token", /gl(?:pat|rt|dt|ptt|soat|ft|agent|cbt|imt)-[\w.-]{20,64}/g],
  ["npm_token", /npm_[A-Za-z0-9]{36}/g],
  ["pypi_token", /pypi-[\w-]{50,}/g],
  ["anthropic_key", /sk-ant-[\w-]{20,}/g],
  ["openai_key", /sk-(?:proj-|svcacct-|admin-|or-v1-)?[\w-]{20,}/g],
  ["google_api_key", /AIza[\w-]{35}/g],
  ["slack_token", /xox[abeoprs]-[\w-]{10,}/g],
  ["stripe_key", /[rs]k_(?:live|test)_[A-Za-z0-9]{10,}/g],
  ["jwt", /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/g],
  [
    "private_key",
    /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]{16,16384}?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----/g,
  ],
];
const assigned =
  /(?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?-?key)["'\\]{0,3}\s{0,8}[=:]\s{0,8}["'\\]{0,3}([^\s"'\\,;<>(){}[\]$]{8,200})/gi;

/** Finds the most common credential shapes. */
export const scanText: Scan = (text) => {
  const spans: Span[] = [];
  for (const [rule, pattern] of tokens) {
    for (const match of text.matchAll(pattern)) {
      spans.push({ start: match.index, end: match.index + match[0].length, rule });
    }
  }
  for (const match of text.matchAll(assigned)) {
    const value = match[1] ?? "";
    if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) continue;
    const end = match.index + match[0].length;
    spans.push({ start: end - value.length, end, rule: "assigned_secret" });
  }
  return merged(spans);
};
