import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Http2Error, HttpSyntaxError, type ResponseHead } from "./response-head.ts";
import { ResponseParser } from "./response-parser.ts";

interface Read {
  readonly status: number | undefined;
  readonly headers: { readonly [name: string]: string | undefined };
  readonly body: string;
  readonly complete: boolean;
  readonly keepsOpen: boolean;
  readonly framed: boolean;
}

const asked = ["content-type", "content-length", "retry-after"] as const;

/** The parser's result for these pieces; each is passed in a separate buffer, as from a network. */
function read(pieces: readonly (string | Uint8Array)[], thenCloses = false): Read {
  const parser = new ResponseParser();
  const body: Buffer[] = [];
  let head: ResponseHead | undefined;
  for (const piece of pieces) {
    const bytes = typeof piece === "string" ? Buffer.from(piece, "latin1") : Buffer.from(piece);
    parser.push(bytes);
    head ??= parser.takeHead();
    body.push(bytes.subarray(parser.bodyStart, parser.bodyEnd));
  }
  if (thenCloses) parser.finish();
  return {
    status: head?.status,
    headers: Object.fromEntries(asked.map((name) => [name, head?.headers.get(name)])),
    body: Buffer.concat(body).toString("latin1"),
    complete: parser.complete,
    keepsOpen: parser.reusable,
    framed: parser.framed,
  };
}

const ok = "HTTP/1.1 200 OK\r\n";

describe("an answer", () => {
  test("of known length is complete with its last byte, and the connection stays open", () => {
    expect(read([`${ok}Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc`])).toEqual({
      status: 200,
      headers: { "content-type": "text/plain", "content-length": "3", "retry-after": undefined },
      body: "abc",
      complete: true,
      keepsOpen: true,
      framed: true,
    });
    expect(read([`${ok}Content-Length: 3\r\n\r\nab`], true).complete).toBe(false);
  });

  test("in chunks is complete with the blank line after the last chunk, and not before", () => {
    const whole = `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n`;
    expect(read([whole])).toMatchObject({ body: "abc0123456789", complete: true, keepsOpen: true, framed: true });
    expect(read([whole.slice(0, -1)], true).complete).toBe(false);
  });

  test("without framing ends with its connection, which is not reused", () => {
    const open = read([`${ok}\r\nabc`, "def"]);
    expect(open).toMatchObject({ body: "abcdef", complete: false, keepsOpen: false, framed: false });
    expect(read([`${ok}\r\nabc`], true)).toMatchObject({ complete: true, framed: false });
  });

  test("of status 204 or 304 has no body, whatever its headers say", () => {
    for (const status of ["204 No Content", "304 Not Modified"]) {
      const answer = read([`HTTP/1.1 ${status}\r\nContent-Length: 3\r\n\r\n`]);
      expect(answer).toMatchObject({ body: "", complete: true, keepsOpen: true });
    }
  });

  test("with bytes after its end makes its connection unusable", () => {
    for (const more of ["x", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]) {
      expect(read([`${ok}Content-Length: 1\r\n\r\nx${more}`])).toMatchObject({ body: "x", keepsOpen: false });
    }
  });
});

describe("the parser refuses", () => {
  const rows: [string, string][] = [
    ["what is not HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    ["another version", "HTTP/2 200\r\n\r\n"],
    ["a status that is no number", "HTTP/1.1 abc\r\n\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    ["a header without a name", `${ok}: x\r\n\r\n`],
    ["a header without a colon", `${ok}x\r\n\r\n`],
    ["a space before the colon", `${ok}Content-Length : 3\r\n\r\n`],
    ["a folded header", `${ok}A: 1\r\n 2\r\n\r\n`],
    ["a NUL in a header", `${ok}A: \0\r\n\r\n`],
    ["a CR in a header", `${ok}A: 1\r2\r\n\r\n`],
    ["a length that is no number", `${ok}Content-Length: -1\r\n\r\n`],
    ["a length without end", `${ok}Content-Length: 99999999999999999999\r\n\r\n`],
    ["two lengths", `${ok}Content-Length: 3\r\nContent-Length: 4\r\n\r\n`],
    ["a coding that is not known", `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
    ["a chunk without a length", `${ok}Transfer-Encoding: chunked\r\n\r\n\r\n`],
    ["a chunk with a sign", `${ok}Transfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n`],
    ["a chunk longer than it said", `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n`],
    ["a head without end", `${ok}A: ${"x".repeat(70_000)}`],
    ["a chunk's line without end", `${ok}Transfer-Encoding: chunked\r\n\r\n1;${"x".repeat(5_000)}`],
    ["trailers without end", `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${"A: x\r\n".repeat(20_000)}`],
  ];
  /** Answers that llhttp's strict mode refuses as well, by what is wrong with them. */
  const length = (value: string) => `${ok}Content-Length:${value}\r\n\r\nx`;
  const header = (line: string) => `${ok}${line}\r\nContent-Length: 1\r\n\r\nx`;
  const coding = (value: string) => `${ok}Transfer-Encoding:${value}\r\n\r\n1\r\nx\r\n0\r\n\r\n`;
  const inChunks = (wire: string) => `${ok}Transfer-Encoding: chunked\r\n\r\n${wire}`;
  const line = (of: string) => inChunks(`${of}\r\nx\r\n0\r\n\r\n`);
  const trailer = (of: string) => inChunks(`1\r\nx\r\n0\r\n${of}\r\n\r\n`);
  rows.push(
    ["a first line that ends in LF alone", "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\nx"],
    ["a header that ends in LF alone", `${ok}A: b\nContent-Length: 1\r\n\r\nx`],
    ["a blank line of LF alone", `${ok}Content-Length: 1\r\n\nx`],
    ["nothing but LF", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx"],
    ["two spaces before the status", "HTTP/1.1  200 OK\r\nContent-Length: 1\r\n\r\nx"],
    ["a tab before the status", "HTTP/1.1\t200 OK\r\nContent-Length: 1\r\n\r\nx"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\nx"],
    ["a name in small letters", "http/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"],
    ["a CR in the reason", "HTTP/1.1 200 O\rK\r\nContent-Length: 1\r\n\r\nx"],
    ["a tab before the colon", header("A\t: b")],
    ["a header that begins with a space", header(" A: b")],
    ["a header folded with a tab", header("A: b\r\n\tc")],
    ["a control character in a name", header("A\x01: b")],
    ["a letter beyond ASCII in a name", header("A\xe9: b")],
    ["a bracket in a name", header("A(: b")],
    ["an empty name", header(": b")],
    ["a control character in a value", header("A: b\x01c")],
    ["a DEL in a value", header("A: b\x7fc")],
    ["a vertical tab around a value", header("Connection: \x0bclose")],
    ["a form feed around a value", header("A: \x0cb")],
    ["a second CR at a line's end", header("A: b\r")],
    ["an empty length", length("")],
    ["a length with a sign", length(" +1")],
    ["a length in hexadecimal", length(" 0x1")],
    ["a length with a fraction", length(" 1.0")],
    ["a length of two numbers", length(" 1 1")],
    ["a length with a parameter", length(" 1;")],
    ["a length beside a no-break space", length(" \xa01")],
    ["a length before a no-break space", length(" 1\xa0")],
    ["a length before a vertical tab", length(" 1\x0b")],
    ["a length before a tab", length(" 1\t")],
    ["a list of equal lengths", length(" 1, 1")],
    ["the same length twice", header("Content-Length: 1")],
    ["two lengths of an answer without a body", "HTTP/1.1 204 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["a coding, then a length", `${ok}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n1\r\nx\r\n0\r\n\r\n`],
    ["a length, then a coding", `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`],
    ["chunks that are not the last coding", coding(" chunked, gzip")],
    ["chunks twice", coding(" chunked, chunked")],
    ["an empty coding", coding("")],
    ["a coding that ends like chunks", coding(" xchunked")],
    ["a coding in quotes", coding(' "chunked"')],
    ["a coding with a parameter", coding(" chunked;q=1")],
    ["a coding before a comma", coding(" chunked,")],
    ["a coding beside a vertical tab", coding(" \x0bchunked")],
    ["a coding before a no-break space", coding(" chunked\xa0")],
    ["a coding beside a tab", coding("\tchunked")],
    ["a space before a chunk's length", line(" 1")],
    ["a space after a chunk's length", line("1 ")],
    ["a tab after a chunk's length", line("1\t")],
    ["a word after a chunk's length", line("1 a")],
    ["a comma after a chunk's length", line("1,a")],
    ["a chunk's length with 0x", line("0x1")],
    ["a chunk's length below zero", line("-1")],
    ["a chunk's length that is no number", line("1g")],
    ["a chunk's length beyond all measure", line("FFFFFFFFFFFFFFFFF")],
    ["a chunk's line that ends in LF alone", inChunks("1\nx\r\n0\r\n\r\n")],
    ["a chunk's line with two CRs", line("1\r")],
    ["a chunk's line with a CR and more", inChunks("1\rx\r\n0\r\n\r\n")],
    ["a chunk's data that end in LF alone", inChunks("1\r\nx\n0\r\n\r\n")],
    ["a chunk's data before two CRs", inChunks("1\r\nx\r\r\n0\r\n\r\n")],
    ["a last chunk's line that ends in LF alone", inChunks("1\r\nx\r\n0\n\r\n")],
    ["an end of LF alone", inChunks("1\r\nx\r\n0\r\n\n")],
    ["an end with two CRs", inChunks("1\r\nx\r\n0\r\n\r\r\n")],
    ["an empty chunk extension", line("1;")],
    ["a chunk extension after a space", line("1; a=b")],
    ["a chunk extension before a space", line("1;a =b")],
    ["a control character in a chunk extension", line("1;a\x01")],
    ["a NUL in a chunk extension", line("1;a\0")],
    ["a CR in a chunk extension", line("1;a\rb")],
    ["a letter beyond ASCII in a chunk extension", line("1;a\xe9")],
    ["a chunk extension that ends in LF alone", inChunks("1;a\nx\r\n0\r\n\r\n")],
    ["an open quote in a chunk extension", line('1;a="b')],
    ["something behind a quote in a chunk extension", line('1;a="b"c')],
    ["a trailer that ends in LF alone", trailer("A: b\nC: d")],
    ["a trailer without a colon", trailer("abc")],
    ["a trailer without a name", trailer(": b")],
    ["a folded trailer", trailer("A: b\r\n c")],
    ["a NUL in a trailer", trailer("A: \0")],
    ["a control character in a trailer", trailer("A: \x01")],
    ["a CR in a trailer", trailer("A: b\rc")],
    ["a space before a trailer's colon", trailer("A : b")],
    ["a length in a trailer", trailer("Content-Length: 5")],
    ["another answer in the trailers", trailer("HTTP/1.1 200 OK")],
  );
  for (const [what, text] of rows) {
    test(`${what}, also in small pieces`, () => {
      expect(() => read([text])).toThrow(HttpSyntaxError);
      const bytes = Buffer.from(text, "latin1");
      // Single bytes; of a head without end more, because an incomplete head is read again with each piece.
      const size = bytes.length > 10_000 ? 64 : 1;
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      expect(() => read(pieces)).toThrow(HttpSyntaxError);
    });
  }
});

describe("a server that speaks only HTTP/2", () => {
  const settings = Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]);
  const goAway = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
  for (const [what, bytes] of [
    ["its settings", settings],
    ["its farewell", goAway],
    ["its name", "HTTP/2 200\r\n\r\n"],
    ["its preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ] as const) {
    test(`is detected by ${what}, and the message says so`, () => {
      expect(() => read([bytes])).toThrow(Http2Error);
    });
  }
});

describe("for any bytes", () => {
  const bytes = fc.uint8Array({ maxLength: 40 });
  const framings = fc.oneof(
    fc.array(bytes, { maxLength: 5 }).map((parts) => {
      const body = Buffer.concat(parts);
      return { head: `Content-Length: ${body.length}\r\n`, wire: body, body };
    }),
    fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 5 }).map((parts) => ({
      head: "Transfer-Encoding: chunked\r\n",
      wire: Buffer.concat([
        ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
        Buffer.from("0\r\n\r\n"),
      ]),
      body: Buffer.concat(parts),
    })),
  );

  test("an answer is parsed in the same way, wherever it is split", () => {
    fc.assert(
      fc.property(framings, fc.array(fc.nat(400), { maxLength: 8 }), ({ head, wire, body }, cuts) => {
        const whole = Buffer.concat([Buffer.from(`${ok}${head}\r\n`), wire]);
        const at = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length];
        const pieces = at.slice(1).map((to, i) => whole.subarray(at[i], to));
        const answer = read(pieces);
        expect(answer).toMatchObject({ status: 200, complete: true, keepsOpen: true });
        expect(answer.body).toBe(body.toString("latin1"));
      }),
    );
  });

  test("an answer is parsed or refused, without another exception", () => {
    const fragments = ["\r\n", "Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n", "2\r\nab\r\n", "0\r\n\r\n"];
    const piece = fc.oneof(bytes, fc.constantFrom(ok, "HTTP/1.1 100\r\n\r\n", "\n", ...fragments));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        try {
          read(pieces, true);
        } catch (error) {
          expect(error).toBeInstanceOf(HttpSyntaxError);
        }
      }),
    );
  });
});
