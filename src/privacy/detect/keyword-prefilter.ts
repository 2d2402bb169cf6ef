import { base64Characters } from "#privacy/text/base64.ts";
import { LOWER_A, LOWER_Z, UPPER_A, UPPER_Z } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";

/** What a short word in the text is the beginning of. */
export type KeywordKind = "name" | "url" | "pem" | "putty" | "notation" | "cookie" | "dsn" | "piped" | "insert";

/**
 * The words whose neighbourhood is read, in small letters. Behind each, where in it the first of two neighbouring pairs
 * of letters stands that are looked for: the text is read two bytes at a step, so one of them falls on a step wherever
 * the word stands. Pairs that are rare with the letter behind them make few stops.
 */
export const keywords: Readonly<Record<KeywordKind, string>> = {
  name:
    "pass0,pwd0,key0,token1,secret1,credential0,auth0,login1,creds1,psk0,bearer0,masterauth6,pw:0,pw=0,pw 0,pw(0,pw\"0,pw'0,pw\x020," +
    "kennwort2,wachtwoord4,contrase4,senha1,clave1,has\xb3o2,haslo1,heslo1,l\xf6sen0,adgangskode6,jelsz\xf33,zugangsdaten0,_salt1,erlang_cookie9,erlangcookie8",
  cookie: "cookie2",
  dsn: "@tcp(2,@unix(2",
  url: "://0",
  pem: "-----begin4,begin ssh25",
  putty: "putty-user-key-file4",
  insert: "into0",
  piped:
    "sudo -s4,password-stdin0,passwd --stdin0,chpasswd1,secret create 1,secret set 1,secret put 1,secrets import 1,secret import 1,secrets versions add 1",
  notation:
    "curl0,docker login8,ldap0,smbclient1,rpcclient1,lftp0,snmp1,htpasswd2,rabbitmqctl5,setcookie5,jdbc:oracle3,mysql2,openssl3,redis-cli4,sqlcmd0,sqlplus0,sshpass1," +
    ":5432:0, -p 1,/p:0,/user:0,<<<0,convertto-securestring8,identified6,mnemonic0,phrase0",
};

interface Candidate {
  readonly word: string;
  readonly kind: KeywordKind;
  /** Where in the word the pair stands. */
  readonly offset: number;
  readonly first: number;
}

const beginsKeyword = 1;
const inBase64 = 2;
/** By pair of bytes, little-endian: whether a keyword may stand at it, and whether both are of base64 or a token. */
const pairFlags = Uint8Array.from({ length: 65_536 }, (_, pair) =>
  base64Characters[pair & 0xff] === 1 && base64Characters[pair >> 8] === 1 ? inBase64 : 0,
);
/** By pair: the index of its words in `groups`, 0 for none. */
const groupByPair = new Uint8Array(65_536);
const groups: (Candidate[] | undefined)[] = [undefined];
/** By group and byte: whether the byte behind the pair allows for one of the words. Rules out most pairs. */
const behindPair = new Uint8Array(65_536);

for (const [kind, words] of Object.entries(keywords)) {
  for (const entry of words.split(",")) {
    const [word, pair] = [entry.slice(0, -1), entry.slice(-1)];
    for (const offset of [Number(pair), Number(pair) + 1]) {
      const small = word.charCodeAt(offset) | (word.charCodeAt(offset + 1) << 8);
      const group = groupByPair[small] || groups.push([]) - 1;
      // The longest first: `docker login` before `login`.
      groups[group]?.push({ word, kind: kind as KeywordKind, offset, first: word.charCodeAt(0) | 0x20 });
      groups[group]?.sort((a, b) => b.word.length - a.word.length);
      for (const first of cases(word, offset)) {
        for (const second of cases(word, offset + 1)) {
          groupByPair[first | (second << 8)] = group;
          pairFlags[first | (second << 8)] = (pairFlags[first | (second << 8)] ?? 0) | beginsKeyword;
        }
      }
      for (const behind of cases(word, offset + 2)) behindPair[(group << 8) | behind] = 1;
    }
  }
}

/** A character in both cases; behind the word it may be any. */
function cases(word: string, at: number): readonly number[] {
  if (at >= word.length) return Array.from({ length: 256 }, (_, code) => code);
  const code = word.charCodeAt(at);
  return code >= LOWER_A && code <= LOWER_Z ? [code, code - 32] : [code];
}

/** Shortest run that is looked at: no token is shorter. */
const minBase64Length = 16;
/** So many pairs are in such a run wherever it begins. */
const minPairs = minBase64Length / 2 - 1;

/** Pairs that are looked at in one go. */
const blockLength = 4_096;
/** The pairs of the block that was looked at last at which something may begin. */
const stops = new Int32Array(blockLength + 1);

/** What is done where something stands that may be a secret, or have one beside it. */
export interface PrefilterVisitor {
  /**
   * Characters of base64 or of a token in a row, not a part of what was read already.
   * @returns where reading goes on
   */
  base64Run(from: number, to: number): number;
  /** A keyword, in whatever case. @returns where the search for keywords goes on, at least one byte further on */
  keyword(at: number, word: string, kind: KeywordKind): number;
}

/** Visits the places at which something may begin, left to right. No pattern of the runtime is as fast. */
export function prefilter(normalized: NormalizedText, visitor: PrefilterVisitor): void {
  const { bytes, pairs, length } = normalized;
  const steps = (length + 1) >> 1;
  let keywordsFrom = 0;
  let runsFrom = 0;
  pairsInRun = 0;
  for (let block = 0; block < steps; block += blockLength) {
    const count = listStops(bytes, pairs, block, Math.min(steps, block + blockLength));
    for (let stop = 0; stop < count; stop++) {
      const place = stops[stop] ?? 0;
      const at = place & ~1;
      const group = groups[groupByPair[pairs[at >> 1] ?? 0] ?? 0];
      if (group !== undefined) keywordsFrom = visitKeyword(bytes, at, group, keywordsFrom, visitor);
      if (place !== at && at >= runsFrom) runsFrom = visitRun(normalized, at, runsFrom, visitor);
    }
  }
}

/** How many pairs in a row belong to a run. */
let pairsInRun = 0;

/**
 * Lists the places of pairs at which something may stand; odd where a run has become long enough. Which pairs those are
 * cannot be foretold, and a wrong guess of the processor costs more than the rest: so there is no branch.
 */
function listStops(bytes: Uint8Array, pairs: Uint16Array, from: number, to: number): number {
  let inRow = pairsInRun;
  let known = 0;
  for (let pair = from; pair < to; pair++) {
    const flags = pairFlags[pairs[pair] ?? 0] ?? 0;
    inRow = (inRow + 1) & -(flags >> 1);
    const isLong = ((inRow ^ minPairs) - 1) >>> 31;
    stops[known] = (pair << 1) | isLong;
    known += (flags & beginsKeyword) | isLong;
  }
  pairsInRun = inRow;
  let count = 0;
  for (let stop = 0; stop < known; stop++) {
    const at = stops[stop] ?? 0;
    stops[count] = at;
    const group = groupByPair[pairs[at >> 1] ?? 0] ?? 0;
    count += (behindPair[(group << 8) | (bytes[(at | 1) + 1] ?? 0)] ?? 0) | (at & 1);
  }
  return count;
}

/** @param least where reading goes on */
function visitRun({ bytes, length }: NormalizedText, at: number, least: number, visitor: PrefilterVisitor): number {
  let from = at;
  while (from > least && base64Characters[bytes[from - 1] ?? 0] === 1) from--;
  for (;;) {
    let to = from;
    while (to < length && base64Characters[bytes[to] ?? 0] === 1) to++;
    if (to - from < minBase64Length) return to;
    from = Math.max(to, visitor.base64Run(from, to));
    // What was read may end within another run.
    if (from === to || base64Characters[bytes[from] ?? 0] === 0) return from;
  }
}

function visitKeyword(
  bytes: Uint8Array,
  place: number,
  group: readonly Candidate[],
  least: number,
  visitor: PrefilterVisitor,
): number {
  for (let k = 0; k < group.length; k++) {
    const candidate = group[k];
    if (candidate === undefined) break;
    const at = place - candidate.offset;
    if (at < least || ((bytes[at] ?? 0) | 0x20) !== candidate.first || !isAt(bytes, at, candidate.word)) continue;
    return Math.max(at + 1, visitor.keyword(at, candidate.word, candidate.kind));
  }
  return least;
}

function isAt(bytes: Uint8Array, at: number, word: string): boolean {
  if (at < 0) return false;
  for (let i = 0; i < word.length; i++) {
    const c = bytes[at + i] ?? 0;
    if ((c >= UPPER_A && c <= UPPER_Z ? c | 0x20 : c) !== word.charCodeAt(i)) return false;
  }
  return true;
}
