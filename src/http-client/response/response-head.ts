const TAB = 9;
const CR = 13;
const SPACE = 0x20;
const COLON = 0x3a;

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

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r\n)/;
/** Characters not allowed in a head: control characters other than the tab, and a CR without LF. */
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)/;

/** Characters allowed in a header name. */
const isNameChar = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  isNameChar[char.charCodeAt(0)] = 1;
}

/** Index after the blank line that ends the head at the start of `text`, or -1. */
export function endOfHead(text: string): number {
  const end = text.indexOf("\r\n\r\n");
  return end < 0 ? -1 : end + 4;
}

/** Parses a complete head, blank line included. Throws `HttpSyntaxError`. */
export function parseHead(text: string): ResponseHead {
  const [line, minor, status] = statusLine.exec(text) ?? [];
  if (line === undefined) throw notHttp1(text);
  if (forbidden.test(text)) throw new HttpSyntaxError("it has control characters in its headers");
  checkLines(text);
  return {
    status: Number(status),
    persistent: minor === "1",
    headers: new HeaderFields(text.slice(text.indexOf("\n"))),
  };
}

/** Checks that every line ends in CR LF, and that every header line starts with a name and a colon, so none is folded. */
function checkLines(text: string): void {
  for (let lf = text.indexOf("\n"); lf >= 0; lf = text.indexOf("\n", lf + 1)) {
    if (text.charCodeAt(lf - 1) !== CR) throw new HttpSyntaxError("a line of its headers does not end in CR and LF");
    let to = lf + 1;
    while (isNameChar[text.charCodeAt(to)] === 1) to++;
    if (to > lf + 1 && text.charCodeAt(to) === COLON) continue;
    const last = to === text.length || (to === lf + 1 && text.startsWith("\r\n", to));
    if (!last) throw new HttpSyntaxError("it has a header without a name");
  }
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
  const blank = (at: number) => text.charCodeAt(at) === SPACE || (tabs && text.charCodeAt(at) === TAB);
  let start = from;
  let end = to;
  while (start < end && blank(start)) start++;
  while (end > start && blank(end - 1)) end--;
  return text.slice(start, end);
}

/** The headers that frame the body. */
const framingHeaders: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/**
 * Headers, searched on demand: of a dozen headers two or three are read, and splitting all of them costs more than the rest
 * of parsing the response.
 */
export class HeaderFields {
  readonly #text: string;
  readonly #lowerCase: string;
  /** Bit `length % 32` is set for the length of each name: most headers that are asked for are not there. */
  readonly #nameLengths: number;

  /** @param text the header lines, each preceded by LF */
  constructor(text: string) {
    this.#text = text;
    this.#lowerCase = text.toLowerCase();
    let lengths = 0;
    for (let lf = text.indexOf("\n"); lf >= 0; lf = text.indexOf("\n", lf + 1)) {
      lengths |= 1 << (text.indexOf(":", lf) - lf - 1);
    }
    this.#nameLengths = lengths;
  }

  /** The value of a header, by its lower-case name; repeated headers are joined with ", ". */
  get(name: string): string | undefined {
    if ((this.#nameLengths & (1 << name.length)) === 0) return undefined;
    const mark = `\n${name}:`;
    let value: string | undefined;
    for (let at = this.#lowerCase.indexOf(mark); at >= 0; at = this.#lowerCase.indexOf(mark, at + 1)) {
      const from = at + mark.length;
      const line = valueIn(this.#text, from, this.#text.indexOf("\r", from), !framingHeaders.has(name));
      value = value === undefined ? line : `${value}, ${line}`;
    }
    return value;
  }
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
