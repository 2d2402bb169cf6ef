import { collectPairsCode } from "#privacy/passes/keyword-pairs-code.ts";
import { listAt, Pass, type TextMemory, tablesAt } from "#privacy/passes/text-memory.ts";
import { LOWER_A, LOWER_Z, UPPER_A, UPPER_Z } from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";

/** What a short word in the text is the beginning of. */
export type KeywordKind = "name" | "url" | "pem" | "putty" | "notation" | "cookie" | "dsn" | "saml" | "piped";

interface Keyword {
  readonly word: string;
  readonly kind: KeywordKind;
  /** Where in the word the first of two neighbouring pairs of letters stands that are looked for. */
  readonly pair: number;
}

/**
 * The words whose neighbourhood is read. Two neighbouring pairs of letters a word: the text is read two bytes at a step, so that one
 * of them falls on a step wherever the word stands. Rare pairs make few stops.
 */
const keywords: readonly Keyword[] = [
  { word: "pass", kind: "name", pair: 1 },
  { word: "pwd", kind: "name", pair: 0 },
  { word: "key", kind: "name", pair: 0 },
  { word: "token", kind: "name", pair: 1 },
  { word: "secret", kind: "name", pair: 1 },
  { word: "credential", kind: "name", pair: 7 },
  { word: "auth", kind: "name", pair: 0 },
  { word: "kennwort", kind: "name", pair: 3 },
  { word: "wachtwoord", kind: "name", pair: 4 },
  { word: "contrase", kind: "name", pair: 4 },
  { word: "senha", kind: "name", pair: 2 },
  { word: "clave", kind: "name", pair: 1 },
  { word: "has\xb3o", kind: "name", pair: 2 },
  { word: "psk", kind: "name", pair: 0 },
  { word: "zugangsdaten", kind: "name", pair: 0 },
  { word: "haslo", kind: "name", pair: 2 },
  { word: "heslo", kind: "name", pair: 2 },
  { word: "l\xf6sen", kind: "name", pair: 0 },
  { word: "adgangskode", kind: "name", pair: 6 },
  { word: "jelsz\xf3", kind: "name", pair: 3 },
  { word: "pw:", kind: "name", pair: 0 },
  { word: "pw=", kind: "name", pair: 0 },
  { word: "pw ", kind: "name", pair: 0 },
  { word: "pw(", kind: "name", pair: 0 },
  { word: 'pw"', kind: "name", pair: 0 },
  { word: "pw'", kind: "name", pair: 0 },
  { word: "pw\x02", kind: "name", pair: 0 },
  { word: "creds", kind: "name", pair: 2 },
  { word: "masterauth", kind: "name", pair: 6 },
  { word: "cookie", kind: "cookie", pair: 2 },
  { word: "@tcp(", kind: "dsn", pair: 2 },
  { word: "@unix(", kind: "dsn", pair: 2 },
  { word: ":5432:", kind: "notation", pair: 0 },
  { word: "sqlplus", kind: "notation", pair: 0 },
  { word: "unzip", kind: "notation", pair: 1 },
  { word: "://", kind: "url", pair: 0 },
  { word: "-----begin", kind: "pem", pair: 6 },
  { word: "putty-user-key-file", kind: "putty", pair: 4 },
  { word: "identified", kind: "notation", pair: 7 },
  { word: "curl", kind: "notation", pair: 1 },
  { word: "mysql", kind: "notation", pair: 2 },
  { word: "redis-cli", kind: "notation", pair: 4 },
  { word: "docker login", kind: "notation", pair: 8 },
  { word: "login", kind: "name", pair: 1 },
  { word: "sshpass", kind: "notation", pair: 1 },
  { word: "openssl", kind: "notation", pair: 4 },
  { word: "sqlcmd", kind: "notation", pair: 0 },
  { word: "ldapsearch", kind: "notation", pair: 2 },
  { word: "htpasswd", kind: "notation", pair: 0 },
  { word: "smbclient", kind: "notation", pair: 1 },
  { word: "7z ", kind: "notation", pair: 0 },
  { word: "jdbc:oracle", kind: "notation", pair: 3 },
  { word: "convertto-securestring", kind: "notation", pair: 8 },
  { word: "samlre", kind: "saml", pair: 2 },
  { word: "begin ssh2", kind: "pem", pair: 1 },
  { word: "lftp", kind: "notation", pair: 0 },
  { word: " -p ", kind: "notation", pair: 1 },
  { word: "/p:", kind: "notation", pair: 0 },
  { word: "/user:", kind: "notation", pair: 0 },
  { word: "sudo -s", kind: "piped", pair: 4 },
  { word: "<<<", kind: "notation", pair: 0 },
  { word: "mnemonic", kind: "notation", pair: 5 },
  { word: "phrase", kind: "notation", pair: 2 },
];

/** Byte pair, little-endian → 1 + index into `groups`; 0 for pairs that begin nothing. */
const groupByPair = new Uint8Array(65_536);
/** 1 for pairs that begin something. */
const isKeywordPair = new Uint8Array(65_536);
const groups: Candidate[][] = [];

interface Candidate {
  readonly keyword: Keyword;
  /** Where in the word the pair stands. */
  readonly offset: number;
  /** The first letter of the word, small: the first thing that is compared. */
  readonly first: number;
}

for (const keyword of keywords) {
  for (const offset of [keyword.pair, keyword.pair + 1]) {
    // One group for a pair in all its cases: a byte has room for 255.
    const small = keyword.word.charCodeAt(offset) | (keyword.word.charCodeAt(offset + 1) << 8);
    const group = groupByPair[small] || groups.push([]);
    groups[group - 1]?.push({ keyword, offset, first: keyword.word.charCodeAt(0) | 0x20 });
    for (const first of cases(keyword.word.charCodeAt(offset))) {
      for (const second of cases(keyword.word.charCodeAt(offset + 1))) {
        groupByPair[first | (second << 8)] = group;
        isKeywordPair[first | (second << 8)] = 1;
      }
    }
  }
}

/**
 * By group and the byte behind the pair: 1 where a word of the group has it there. Words that end with the pair are in the other
 * table, by the byte before the pair. Rules out eight of nine pairs that stand in other words.
 */
const behindPair = new Uint8Array((groups.length + 1) << 8);
const beforePair = new Uint8Array((groups.length + 1) << 8);
for (const [index, group] of groups.entries()) {
  for (const { keyword, offset } of group) {
    const { word } = keyword;
    const [table, at] = offset + 2 < word.length ? [behindPair, offset + 2] : [beforePair, offset - 1];
    for (const code of cases(word.charCodeAt(at))) table[((index + 1) << 8) | code] = 1;
  }
}

function cases(code: number): readonly number[] {
  return code >= LOWER_A && code <= LOWER_Z ? [code, code - 32] : [code];
}

/**
 * Calls back for every keyword, in whatever case, from left to right.
 * @param visit gets where the word begins; returns where to go on (at least one byte further on)
 */
export function eachKeyword(
  normalized: NormalizedText,
  visit: (at: number, word: string, kind: KeywordKind) => number,
): void {
  const { bytes, pairs, length, memory } = normalized;
  const collect = memory === undefined ? undefined : collectPairs.in(memory);
  const steps = (length + 1) >> 1;
  let skipTo = 0;
  for (let block = 0; block < steps; block += blockLength) {
    const blockEnd = Math.min(steps, block + blockLength);
    let places: Int32Array = candidatePlaces;
    let first = 0;
    let count: number;
    if (memory === undefined || collect === undefined) count = collectCandidates(normalized, block, blockEnd);
    else {
      places = memory.list;
      first = memory.textAt;
      count = (collect(first + 2 * block, first + 2 * blockEnd, listAt) - listAt) >> 2;
    }
    for (let stop = 0; stop < count; stop++) {
      const place = (places[stop] ?? 0) - first;
      if (place + 1 < skipTo) continue;
      const group = groups[(groupByPair[pairs[place >> 1] ?? 0] ?? 0) - 1];
      if (group === undefined) continue;
      for (let k = 0; k < group.length; k++) {
        const candidate = group[k];
        if (candidate === undefined) break;
        const at = place - candidate.offset;
        if (((bytes[at] ?? 0) | 0x20) !== candidate.first || at < skipTo) continue;
        const { word, kind } = candidate.keyword;
        if (!isAt(bytes, at, word)) continue;
        skipTo = Math.max(at + 1, visit(at, word, kind));
        break;
      }
    }
  }
}

/** Pairs that are looked at in one go. */
const blockLength = 4_096;
/** Where in the text, in the block that was looked at last, something may begin. */
const candidatePlaces = new Int32Array(blockLength + 1);

const tables = {
  flags: tablesAt,
  groups: tablesAt + 65_536,
  behind: tablesAt + 2 * 65_536,
  before: tablesAt + 3 * 65_536,
};
/** Does what `collectCandidates` does, with addresses, for texts in a memory of WebAssembly. */
const collectPairs = new Pass<(at: number, end: number, list: number) => number>(
  "collectPairs",
  collectPairsCode(tables),
  writeTables,
);

function writeTables({ bytes }: TextMemory): void {
  const flags = (table: Uint8Array) => table.map((flag) => 4 * flag);
  bytes.set(flags(isKeywordPair), tables.flags);
  bytes.set(groupByPair, tables.groups);
  bytes.set(flags(behindPair), tables.behind);
  bytes.set(flags(beforePair), tables.before);
}

/** A loop without branches: which pairs begin something cannot be foretold, and a wrong guess costs more than the rest. */
function collectCandidates({ pairs, bytes }: NormalizedText, from: number, to: number): number {
  let known = 0;
  for (let i = from; i < to; i++) {
    candidatePlaces[known] = 2 * i;
    known += isKeywordPair[pairs[i] ?? 0] ?? 0;
  }
  let count = 0;
  for (let k = 0; k < known; k++) {
    const place = candidatePlaces[k] ?? 0;
    const group = (groupByPair[pairs[place >> 1] ?? 0] ?? 0) << 8;
    candidatePlaces[count] = place;
    // A place before the text is none of the buffer.
    const before = place === 0 ? 0 : (bytes[place - 1] ?? 0);
    count += (behindPair[group | (bytes[place + 2] ?? 0)] ?? 0) | (beforePair[group | before] ?? 0);
  }
  return count;
}

function isAt(bytes: Uint8Array, at: number, word: string): boolean {
  if (at < 0) return false;
  for (let i = 0; i < word.length; i++) {
    const c = bytes[at + i] ?? 0;
    if ((c >= UPPER_A && c <= UPPER_Z ? c | 0x20 : c) !== word.charCodeAt(i)) return false;
  }
  return true;
}
