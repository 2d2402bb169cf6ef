import { isDummyValue, isRandom, shapeOf } from "#privacy/detect/randomness.ts";
import { isPassword } from "#privacy/detect/values.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

interface PasswordOption {
  readonly tool: string;
  /** From the tool's name on; group 1 is the secret. */
  readonly pattern: RegExp;
}

const optionWords = "(?:[^\\n|;&]{0,400}?)";
const passwordOptions: readonly PasswordOption[] = [
  {
    tool: "curl",
    pattern: new RegExp(
      `curl\\b${optionWords}[ \\t](?:-u|--user|--proxy-user)[ \\t=]{0,3}["']?[^\\s:"']{0,128}:([^\\s"']{3,256})`,
      "y",
    ),
  },
  {
    tool: "mysql",
    pattern: new RegExp(`mysql(?:dump|admin|import|sh)?\\b${optionWords}[ \\t]-p["']?([^\\s"'-][^\\s"']{2,128})`, "y"),
  },
  {
    tool: "redis-cli",
    pattern: new RegExp(`redis-cli\\b${optionWords}[ \\t](?:-a|--pass)[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y"),
  },
  { tool: "sqlplus", pattern: /sqlplus\b(?:[ \t]+-\S{1,20}){0,4}[ \t]+["']?\w{1,64}\/([^\s"']{3,128}?)@(?![^\s]*@)/y },
  { tool: "unzip", pattern: new RegExp(`unzip\\b${optionWords}[ \\t]-P[ \\t]{0,2}["']?([^\\s"']{3,256})`, "y") },
  {
    tool: "docker login",
    pattern: new RegExp(`docker login\\b${optionWords}[ \\t](?:-p|-w)[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y"),
  },
  { tool: "sshpass", pattern: new RegExp(`sshpass\\b${optionWords}[ \\t]-p[ \\t]{0,3}["']?([^\\s"']{3,256})`, "y") },
  {
    tool: "openssl",
    pattern: new RegExp(`openssl\\b${optionWords}(?:\\bpass:|[ \\t]-k[ \\t]{1,3}["']?)([^\\s"']{3,256})`, "y"),
  },
  { tool: "sqlcmd", pattern: new RegExp(`sqlcmd\\b${optionWords}[ \\t]-P[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y") },
  {
    tool: "ldapsearch",
    pattern: new RegExp(`ldapsearch\\b${optionWords}[ \\t]-w[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y"),
  },
  {
    tool: "smbclient",
    pattern: new RegExp(`smbclient\\b${optionWords}[ \\t]-U[ \\t]{0,2}["']?[^\\s%"']{1,64}%([^\\s"']{3,128})`, "y"),
  },
  { tool: "7z ", pattern: new RegExp(`7z\\b${optionWords}[ \\t]-p["']?([^\\s"'-][^\\s"']{2,128})`, "y") },
  { tool: "jdbc:oracle", pattern: /jdbc:oracle:(?:thin|oci):["']?[^/\s"'@]{1,64}\/["']?([^@\s"']{3,128})(?=["']?@)/y },
  {
    tool: "convertto-securestring",
    pattern: /ConvertTo-SecureString(?:[ \t]{1,3}-String)?[ \t]{1,3}["']([^"'\n$]{3,256})/iy,
  },
  {
    tool: "lftp",
    pattern: new RegExp(`lftp\\b${optionWords}[ \\t]-u[ \\t]{0,2}["']?[^\\s,"']{1,64},([^\\s"']{3,128})`, "y"),
  },
  { tool: " -p ", pattern: /[ \t]-p[ \t]{1,3}["']?([^\s"'/-][^\s"']{5,127})/iy },
  { tool: "/p:", pattern: /\/p:["']?([^\s"'/]{5,128})(?=["']?(?:\s|$))/y },
  { tool: "/user:", pattern: /\/user:["']?[\w.@\\-]{1,64}["']?[ \t]{1,3}["']?([^\s"'/*-][^\s"']{4,127})/iy },
  { tool: "<<<", pattern: /<<<[ \t]{0,2}["']?([^\s"'$(){}[\]]{6,128})["']?(?=\s|$)/y },
  {
    tool: "htpasswd",
    pattern: new RegExp(`htpasswd\\b${optionWords}[ \\t]-[a-z]*b[a-z]*[ \\t][^\\n]{1,200}[ \\t]([^\\s"']{3,256})`, "y"),
  },
];

/** What has to stand in the line before, where the mark itself may mean anything. */
const requiredLead: Readonly<Record<string, RegExp>> = {
  " -p ": /(?:^|[ \t])(?:-u|--user(?:name)?|login)\b[^\n|;&]{0,120}$/i,
  "/p:": /\/u(?:ser)?:\S[^\n]{0,120}$/i,
  "/user:": /\b(?:net(?:\.exe)?[ \t]{1,3}use|runas|cmdkey|New-PSDrive)\b[\s\S]{0,140}$/i,
  "<<<":
    /\b(?:sudo[ \t]{1,3}(?:-\w[ \t]{1,3}){0,3}-S|su|passwd|cryptsetup|kinit|gpg|ssh-add|openssl|docker login|--password-stdin|--passphrase-fd)\b[^\n]{0,100}$/,
};

/** Passwords that a command takes as an option: `curl -u user:…`, `mysql -p…`. */
export function scanCommand(normalized: NormalizedText, keywordAt: number, tool: string, found: Span[]): void {
  const { text } = normalized;
  for (const option of passwordOptions) {
    if (option.tool !== tool) continue;
    option.pattern.lastIndex = keywordAt;
    const match = option.pattern.exec(text);
    const value = match?.[1];
    if (value === undefined || match === null || !isCommandPassword(value)) continue;
    const asked = requiredLead[tool];
    if (
      asked !== undefined &&
      !(asked.test(text.slice(Math.max(0, keywordAt - 160), keywordAt)) && isPassword(value, "quoted"))
    )
      continue;
    const start = match.index + match[0].lastIndexOf(value);
    found.push({ start, end: start + value.length, rule: "password" });
  }
}

function isCommandPassword(value: string): boolean {
  if (/^[$<{%[]|^(?:pass(?:word)?|secret|token|x-oauth-basic|changeme)$/i.test(value) || isDummyValue(value))
    return false;
  const shape = shapeOf(value);
  return shape.digits > 0 || shape.others > 0 || isRandom(shape) || value.length >= 8;
}

const piped =
  /\b(?:echo[ \t]{1,3}(?:-[neE]{1,3}[ \t]{1,3})?|printf[ \t]{1,3}(?:["']?%s(?:\\n)?["']?[ \t]{1,3})?)["']?([^"'|\n]{3,128}?)["']?[ \t]{0,3}\|[^|\n]{0,160}$/;

/** `echo … | docker login --password-stdin`. */
export function scanPiped(normalized: NormalizedText, keywordAt: number, found: Span[]): void {
  const from = Math.max(0, keywordAt - 300);
  const match = piped.exec(normalized.text.slice(from, keywordAt));
  const value = match?.[1];
  if (match === null || value === undefined) return;
  // `user:password`, as `chpasswd` reads it.
  const user = /^[\w.-]{1,32}:(?=\S{3})/.exec(value)?.[0].length ?? 0;
  if (!isPassword(value.slice(user), "quoted")) return;
  const start = from + match.index + match[0].indexOf(value) + user;
  found.push({ start, end: start + value.length - user, rule: "password" });
}
