import type { View } from "./view.ts";

/** What a short word in the text is the beginning of. */
export type AnchorKind =
  | "name"
  | "url"
  | "pem"
  | "putty"
  | "sql"
  | "command"
  | "phrase"
  | "cookie"
  | "dsn"
  | "pgpass"
  | "saml";

interface Anchor {
  readonly word: string;
  readonly kind: AnchorKind;
  /** Where in the word the first of two neighbouring pairs of letters stands that are looked for. */
  readonly pair: number;
}

/**
 * The words whose neighbourhood is read. Two neighbouring pairs of letters a word: the text is read two bytes at a step, so that one
 * of them falls on a step wherever the word stands. Rare pairs make few stops.
 */
const anchors: readonly Anchor[] = [
  { word: "pass", kind: "name", pair: 1 },
  { word: "pwd", kind: "name", pair: 0 },
  { word: "key", kind: "name", pair: 0 },
  { word: "token", kind: "name", pair: 1 },
  { word: "secret", kind: "name", pair: 1 },
  { word: "credential", kind: "name", pair: 6 },
  { word: "auth", kind: "name", pair: 0 },
  { word: "kennwort", kind: "name", pair: 2 },
  { word: "wachtwoord", kind: "name", pair: 3 },
  { word: "contrase", kind: "name", pair: 3 },
  { word: "senha", kind: "name", pair: 1 },
  { word: "clave", kind: "name", pair: 0 },
  { word: "has\xb3o", kind: "name", pair: 2 },
  { word: "psk", kind: "name", pair: 0 },
  { word: "zugangsdaten", kind: "name", pair: 0 },
  { word: "haslo", kind: "name", pair: 2 },
  { word: "pw:", kind: "name", pair: 0 },
  { word: "pw=", kind: "name", pair: 0 },
  { word: "pw ", kind: "name", pair: 0 },
  { word: "pw(", kind: "name", pair: 0 },
  { word: 'pw"', kind: "name", pair: 0 },
  { word: "pw'", kind: "name", pair: 0 },
  { word: "pw\x02", kind: "name", pair: 0 },
  { word: "creds", kind: "name", pair: 2 },
  { word: "masterauth", kind: "name", pair: 5 },
  { word: "cookie", kind: "cookie", pair: 3 },
  { word: "@tcp(", kind: "dsn", pair: 2 },
  { word: "@unix(", kind: "dsn", pair: 3 },
  { word: ":5432:", kind: "pgpass", pair: 0 },
  { word: "sqlplus", kind: "command", pair: 0 },
  { word: "unzip", kind: "command", pair: 1 },
  { word: "://", kind: "url", pair: 0 },
  { word: "-----begin", kind: "pem", pair: 3 },
  { word: "putty-user-key-file", kind: "putty", pair: 4 },
  { word: "identified", kind: "sql", pair: 7 },
  { word: "curl", kind: "command", pair: 1 },
  { word: "mysql", kind: "command", pair: 2 },
  { word: "redis-cli", kind: "command", pair: 4 },
  { word: "docker login", kind: "command", pair: 7 },
  { word: "login", kind: "name", pair: 0 },
  { word: "sshpass", kind: "command", pair: 1 },
  { word: "openssl", kind: "command", pair: 4 },
  { word: "sqlcmd", kind: "command", pair: 0 },
  { word: "ldapsearch", kind: "command", pair: 2 },
  { word: "htpasswd", kind: "command", pair: 0 },
  { word: "smbclient", kind: "command", pair: 1 },
  { word: "7z ", kind: "command", pair: 0 },
  { word: "jdbc:oracle", kind: "command", pair: 2 },
  { word: "convertto-securestring", kind: "command", pair: 8 },
  { word: "samlresponse", kind: "saml", pair: 2 },
  { word: "mnemonic", kind: "phrase", pair: 5 },
  { word: "phrase", kind: "phrase", pair: 0 },
];

/** Byte pair, little-endian → 1 + index into `groups`; 0 for pairs that begin nothing. */
const table = new Uint8Array(65_536);
const groups: { readonly anchor: Anchor; readonly offset: number }[][] = [];

for (const anchor of anchors) {
  for (const offset of [anchor.pair, anchor.pair + 1]) {
    // One group for a pair in all its cases: a byte has room for 255.
    const small = anchor.word.charCodeAt(offset) | (anchor.word.charCodeAt(offset + 1) << 8);
    const group = table[small] || groups.push([]);
    groups[group - 1]?.push({ anchor, offset });
    for (const first of cases(anchor.word.charCodeAt(offset))) {
      for (const second of cases(anchor.word.charCodeAt(offset + 1))) table[first | (second << 8)] = group;
    }
  }
}

function cases(code: number): readonly number[] {
  return code >= 0x61 && code <= 0x7a ? [code, code - 32] : [code];
}

/**
 * Calls back for every anchor word, in whatever case, from left to right.
 * @param visit gets where the word begins; returns where to go on (at least one byte further on)
 */
export function eachAnchor(view: View, visit: (at: number, word: string, kind: AnchorKind) => number): void {
  const { bytes, pairs, length } = view;
  const steps = (length + 1) >> 1;
  let skipTo = 0;
  for (let i = nextHit(pairs, 0, steps); i < steps; i = nextHit(pairs, i + 1, steps)) {
    const group = groups[(table[pairs[i] ?? 0] ?? 0) - 1];
    if (group === undefined) continue;
    for (const { anchor, offset } of group) {
      const at = i * 2 - offset;
      if (at < skipTo || !isAt(bytes, at, anchor.word)) continue;
      skipTo = Math.max(at + 1, visit(at, anchor.word, anchor.kind));
      if (skipTo > i * 2 + 2) i = (skipTo >> 1) - 1;
      break;
    }
  }
}

/** A loop of its own, with nothing else in it, so that it stays in registers. */
function nextHit(pairs: Uint16Array, from: number, to: number): number {
  let i = from;
  while (i < to && table[pairs[i] ?? 0] === 0) i++;
  return i;
}

function isAt(bytes: Uint8Array, at: number, word: string): boolean {
  if (at < 0) return false;
  for (let i = 0; i < word.length; i++) {
    const c = bytes[at + i] ?? 0;
    if ((c >= 0x41 && c <= 0x5a ? c | 0x20 : c) !== word.charCodeAt(i)) return false;
  }
  return true;
}
