/** The bytes are not an HTTP/1.1 answer. The message says what is wrong and nothing of what came. */
export class HttpSyntaxError extends Error {
  readonly code = "HTTP_INVALID";
  override readonly name = "HttpSyntaxError";
}

/** The start of an answer: its status line and headers. */
export interface ResponseHead {
  readonly status: number;
  /** HTTP/1.1 or later of version 1: the connection stays unless the answer says otherwise. */
  readonly persistent: boolean;
  readonly headers: HeaderFields;
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r?\n)/;
const strayReturn = /\r(?!\n)/;

/** Characters of a header's name. */
const isNameChar = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  isNameChar[char.charCodeAt(0)] = 1;
}
const colon = 58;

/**
 * Where the head at the start of `text` is over, behind its blank line, or -1. Lines may end in LF alone.
 */
export function endOfHead(text: string): number {
  const crlf = text.indexOf("\n\r\n");
  const lf = (crlf < 0 ? text : text.slice(0, crlf + 1)).indexOf("\n\n");
  if (lf >= 0) return lf + 2;
  return crlf < 0 ? -1 : crlf + 3;
}

/** Reads a whole head, blank line included. Throws `HttpSyntaxError`. */
export function readHead(text: string): ResponseHead {
  const [line, minor, status] = statusLine.exec(text) ?? [];
  if (line === undefined) throw new HttpSyntaxError("it does not begin with HTTP/1.1");
  if (text.includes("\0") || strayReturn.test(text)) {
    throw new HttpSyntaxError("it has control characters in its headers");
  }
  const start = text.indexOf("\n") + 1;
  checkNames(text, start);
  return { status: Number(status), persistent: minor === "1", headers: new HeaderFields(text.slice(start - 1)) };
}

/** Every line but the blank one begins with a name and a colon; so folded lines are refused, too. */
function checkNames(text: string, start: number): void {
  for (let at = start; ; at = text.indexOf("\n", at) + 1) {
    let to = at;
    while (isNameChar[text.charCodeAt(to)] === 1) to++;
    if (to > at && text.charCodeAt(to) === colon) continue;
    const blank = text.startsWith("\n", at) || text.startsWith("\r\n", at);
    if (!blank) throw new HttpSyntaxError("it has a header without a name");
    return;
  }
}

/** Where the line of a header begins, by its name: the headers that anybody here asks for. */
const marks = {
  connection: "\nconnection:",
  "content-encoding": "\ncontent-encoding:",
  "content-length": "\ncontent-length:",
  "content-type": "\ncontent-type:",
  "retry-after": "\nretry-after:",
  "retry-after-ms": "\nretry-after-ms:",
  "transfer-encoding": "\ntransfer-encoding:",
};
export type HeaderName = keyof typeof marks;

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
      const line = this.#text.slice(from, this.#text.indexOf("\n", from)).trim();
      value = value === undefined ? line : `${value}, ${line}`;
    }
    return value;
  }
}
