const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 0x20;
const COLON = 0x3a;
const DELETE = 0x7f;

/** The bytes are not an HTTP/1.1 response. The message names the defect and contains nothing received. */
export class HttpSyntaxError extends Error {
  readonly code = "HTTP_INVALID";
  override readonly name = "HttpSyntaxError";
}

/** The server speaks HTTP/2 only, so it has not read the request. */
export class Http2Error extends HttpSyntaxError {}

/** Status line and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  /** HTTP/1.1: the connection persists unless the response says otherwise. */
  readonly persistent: boolean;
  readonly headers: HeaderFields;
}

const statusLine = /^HTTP\/1\.[01] [1-9]\d\d(?: |\r\n)/;
const statusFrom = "HTTP/1.x ".length;
const statusTo = statusFrom + 3;

/** The small letter, or the character itself, of each character that is allowed in a header name; 0 for all others. */
const nameChars = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  nameChars[char.charCodeAt(0)] = char.toLowerCase().charCodeAt(0);
}

/** Characters of a status line or a header value: all but control characters, of which the tab is allowed. */
const isValueChar = new Uint8Array(256).fill(1, SPACE);
isValueChar[TAB] = 1;
isValueChar[DELETE] = 0;

/** Index after the blank line that ends the head at the start of `text`, or -1. */
export function endOfHead(text: string): number {
  const end = text.indexOf("\r\n\r\n");
  return end < 0 ? -1 : end + 4;
}

/** Parses the head at the start of `text`, which ends, blank line included, at `end`. Throws `HttpSyntaxError`. */
export function parseHead(text: string, end: number): ResponseHead {
  if (!statusLine.test(text)) throw notHttp1(text);
  return {
    status: Number(text.slice(statusFrom, statusTo)),
    persistent: text[statusFrom - 2] === "1",
    headers: new HeaderFields(text, headerLinesOf(text, end)),
  };
}

/**
 * Where the name and the value of each header begin and end: four indexes a line. Checks that every line ends in CR LF
 * and has no control characters, and that every header line starts with a name and a colon, so none is folded.
 */
function headerLinesOf(text: string, end: number): readonly number[] {
  const lines: number[] = [];
  let at = afterLine(text, endOfValue(text, statusTo));
  while (at < end - 2) {
    const from = at;
    while (nameChars[text.charCodeAt(at)]) at++;
    if (at === from || text.charCodeAt(at) !== COLON) throw new HttpSyntaxError("it has a header without a name");
    const to = endOfValue(text, at + 1);
    lines.push(from, at, at + 1, to);
    at = afterLine(text, to);
  }
  return lines;
}

/** Where a value that begins at `from` ends: at the first character that none may have. */
function endOfValue(text: string, from: number): number {
  let at = from;
  while (isValueChar[text.charCodeAt(at)]) at++;
  return at;
}

/** The index after the CR LF at `at`. */
function afterLine(text: string, at: number): number {
  if (text.charCodeAt(at) === CR && text.charCodeAt(at + 1) === LF) return at + 2;
  if (text.charCodeAt(at) === LF) throw new HttpSyntaxError("a line of its headers does not end in CR and LF");
  throw new HttpSyntaxError("it has control characters in its headers");
}

/** Whether an incomplete head has a line that ends in LF alone: its end would never be found. */
export function hasBareLf(text: string): boolean {
  for (let lf = text.indexOf("\n"); lf >= 0; lf = text.indexOf("\n", lf + 1)) {
    if (text.charCodeAt(lf - 1) !== CR) return true;
  }
  return false;
}

/** Whether this is a valid trailer line, without its LF. Length and coding are not allowed in trailers. */
export function isTrailer(line: string): boolean {
  return (
    /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r$/.test(line) && !/^(content-length|transfer-encoding):/i.test(line)
  );
}

/** Whether this is a valid chunk extension, CR included. */
export function isChunkExtension(text: string): boolean {
  return /^(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)+\r$/.test(text);
}

/** The header value between `from` and `to`, trimmed; `tabs`: tabs count as white space. */
function valueIn(text: string, from: number, to: number, tabs: boolean): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start), tabs)) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1), tabs)) end--;
  return text.slice(start, end);
}

function isBlank(char: number, tabs: boolean): boolean {
  return char === SPACE || (tabs && char === TAB);
}

/** The headers that frame the body. */
const framingHeaders: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** Headers, searched on demand: of a dozen two or three are read, and making strings of all costs more than all else. */
export class HeaderFields {
  readonly #text: string;
  readonly #lines: readonly number[];

  /** @param lines where in the text each name and each value begins and ends: four indexes a header */
  constructor(text: string, lines: readonly number[]) {
    this.#text = text;
    this.#lines = lines;
  }

  /** The value of a header, by its lower-case name; repeated headers are joined with ", ". */
  get(name: string): string | undefined {
    const lines = this.#lines;
    let value: string | undefined;
    for (let line = 0; line < lines.length; line += 4) {
      const from = lines[line] ?? 0;
      // Most headers that are asked for are not there, and most others have names of another length.
      if ((lines[line + 1] ?? 0) - from !== name.length || !hasName(this.#text, from, name)) continue;
      const each = valueIn(this.#text, lines[line + 2] ?? 0, lines[line + 3] ?? 0, !framingHeaders.has(name));
      value = value === undefined ? each : `${value}, ${each}`;
    }
    return value;
  }
}

/** Whether the name at an index is this one, which is in lower case; of the same length. */
function hasName(text: string, from: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    if (nameChars[text.charCodeAt(from + at)] !== name.charCodeAt(at)) return false;
  }
  return true;
}

/** The error for a response that does not start with an HTTP/1.1 status line. */
export function notHttp1(text: string): HttpSyntaxError {
  return looksLikeHttp2(text) ? new Http2Error("it is HTTP/2") : new HttpSyntaxError("it does not begin with HTTP/1.1");
}

/**
 * Whether these are the first bytes of an HTTP/2 server: the version name, or its first frame, SETTINGS or GOAWAY on
 * stream 0.
 */
function looksLikeHttp2(text: string): boolean {
  return /^(?:PRI \* )?HTTP\/2/.test(text) || /^\0[\s\S]{2}[\x04\x07][\s\S]\0\0\0\0/.test(text);
}
