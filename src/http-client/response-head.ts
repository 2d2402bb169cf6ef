/** The bytes are not an HTTP/1.1 answer. The message says what is wrong and nothing of what came. */
export class HttpSyntaxError extends Error {
  readonly code = "HTTP_INVALID";
  override readonly name = "HttpSyntaxError";
}

/** The other side speaks HTTP/2, in which nobody has asked it anything. */
export class Http2Error extends HttpSyntaxError {}

/** The start of an answer: its status line and headers. */
export interface ResponseHead {
  readonly status: number;
  /** HTTP/1.1 or later of version 1: the connection stays unless the answer says otherwise. */
  readonly persistent: boolean;
  readonly headers: HeaderFields;
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r\n)/;
/** What may stand nowhere in a head: control characters but the tab, and a CR that ends no line. */
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)/;

/** Characters of a header's name. */
const isNameChar = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  isNameChar[char.charCodeAt(0)] = 1;
}
const cr = 13;
const colon = 58;
const tab = 9;
const space = 32;

/** Where the head at the start of `text` is over, behind its blank line, or -1. */
export function endOfHead(text: string): number {
  const end = text.indexOf("\r\n\r\n");
  return end < 0 ? -1 : end + 4;
}

/** Reads a whole head, blank line included. Throws `HttpSyntaxError`. */
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

/** Every line ends in CR and LF; all but the first and the blank one begin with a name and a colon, so none is folded. */
function checkLines(text: string): void {
  for (let lf = text.indexOf("\n"); lf >= 0; lf = text.indexOf("\n", lf + 1)) {
    if (text.charCodeAt(lf - 1) !== cr) throw new HttpSyntaxError("a line of its headers does not end in CR and LF");
    let to = lf + 1;
    while (isNameChar[text.charCodeAt(to)] === 1) to++;
    if (to > lf + 1 && text.charCodeAt(to) === colon) continue;
    const last = to === text.length || (to === lf + 1 && text.startsWith("\r\n", to));
    if (!last) throw new HttpSyntaxError("it has a header without a name");
  }
}

/** Whether what has come of a head has a line that ends in LF alone: then its end will never be found. */
export function hasBareLf(text: string): boolean {
  for (let lf = text.indexOf("\n"); lf >= 0; lf = text.indexOf("\n", lf + 1)) {
    if (text.charCodeAt(lf - 1) !== cr) return true;
  }
  return false;
}

/** A line of a trailer, without its LF. Lengths and codings may not be told there. */
export function isTrailer(line: string): boolean {
  return (
    /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r$/.test(line) && !/^(content-length|transfer-encoding):/i.test(line)
  );
}

/** What may stand behind the length of a chunk, the CR included. */
export function isChunkExtension(text: string): boolean {
  return /^(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)+\r$/.test(text);
}

/** A header's value between `from` and `to`, without the white space around it; `tabs`: tabs are white space. */
function valueIn(text: string, from: number, to: number, tabs: boolean): string {
  const blank = (at: number) => text.charCodeAt(at) === space || (tabs && text.charCodeAt(at) === tab);
  let start = from;
  let end = to;
  while (start < end && blank(start)) start++;
  while (end > start && blank(end - 1)) end--;
  return text.slice(start, end);
}

/** Where the line of a header begins, by its name: the headers that anybody here asks for. */
const marks = {
  connection: "\nconnection:",
  "content-encoding": "\ncontent-encoding:",
  "content-length": "\ncontent-length:",
  "content-type": "\ncontent-type:",
  "retry-after": "\nretry-after:",
  "retry-after-ms": "\nretry-after-ms:",
  "x-generation-id": "\nx-generation-id:",
  "transfer-encoding": "\ntransfer-encoding:",
};
export type HeaderName = keyof typeof marks;

/** The headers that say where an answer ends. */
const framing: ReadonlySet<HeaderName> = new Set(["content-length", "transfer-encoding"]);

/**
 * Headers that are looked for where they stand: of the dozen that an answer has, two or three are ever asked for, and
 * cutting all of them out costs more than all the rest of reading it.
 */
export class HeaderFields {
  readonly #text: string;
  readonly #lowerCase: string;

  /** @param text the lines, each with a line feed before it */
  constructor(text: string) {
    this.#text = text;
    this.#lowerCase = text.toLowerCase();
  }

  /** The value of a header; lines of the same name are joined with ", ". */
  get(name: HeaderName): string | undefined {
    const mark = marks[name];
    let value: string | undefined;
    for (let at = this.#lowerCase.indexOf(mark); at >= 0; at = this.#lowerCase.indexOf(mark, at + 1)) {
      const from = at + mark.length;
      const line = valueIn(this.#text, from, this.#text.indexOf("\r", from), !framing.has(name));
      value = value === undefined ? line : `${value}, ${line}`;
    }
    return value;
  }
}

/** What is wrong with an answer that does not begin as one of HTTP/1.1 does. */
export function notHttp1(text: string): HttpSyntaxError {
  return looksLikeHttp2(text) ? new Http2Error("it is HTTP/2") : new HttpSyntaxError("it does not begin with HTTP/1.1");
}

/**
 * Whether these are the first bytes of a server that speaks HTTP/2: the name of the version, or its first frame, which is
 * SETTINGS or GOAWAY on stream 0.
 */
function looksLikeHttp2(text: string): boolean {
  return /^(?:PRI \* )?HTTP\/2/.test(text) || /^\0[\s\S]{2}[\x04\x07][\s\S]\0\0\0\0/.test(text);
}
