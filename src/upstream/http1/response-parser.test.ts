import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { HttpSyntaxError, type ResponseHead } from "./response-head.ts";
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

/** What the parser makes of these pieces; each is handed over in a buffer of its own, as the network does. */
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
    keepsOpen: parser.keepsOpen,
    framed: parser.framed,
  };
}

const ok = "HTTP/1.1 200 OK\r\n";

describe("an answer", () => {
  test("of known length is complete with its last byte, and the connection stays", () => {
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

  test("in chunks is complete with the blank line after the last, and not before", () => {
    const whole = `${ok}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n`;
    expect(read([whole])).toMatchObject({ body: "abc0123456789", complete: true, keepsOpen: true, framed: true });
    expect(read([whole.slice(0, -1)], true).complete).toBe(false);
  });

  test("without framing ends with its connection, and nothing follows there", () => {
    const open = read([`${ok}\r\nabc`, "def"]);
    expect(open).toMatchObject({ body: "abcdef", complete: false, keepsOpen: false, framed: false });
    expect(read([`${ok}\r\nabc`], true)).toMatchObject({ complete: true, framed: false });
  });

  test("204 and 304 have no body, whatever they say", () => {
    for (const status of ["204 No Content", "304 Not Modified"]) {
      const answer = read([`HTTP/1.1 ${status}\r\nContent-Length: 3\r\n\r\n`]);
      expect(answer).toMatchObject({ body: "", complete: true, keepsOpen: true });
    }
  });

  test("comes after any number of interim ones", () => {
    const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    const answer = read([`${interim}${ok}Content-Length: 1\r\n\r\nx`]);
    expect(answer).toMatchObject({ status: 200, headers: { "content-length": "1" }, body: "x", complete: true });
  });

  test("keeps the connection as its version and headers say", () => {
    const rows: [string, string, boolean][] = [
      ["1.1", "", true],
      ["1.1", "Connection: close\r\n", false],
      ["1.1", "Connection: Keep-Alive, CLOSE\r\n", false],
      ["1.0", "", false],
      ["1.0", "Connection: keep-alive\r\n", true],
    ];
    for (const [version, header, stays] of rows) {
      const { keepsOpen } = read([`HTTP/${version} 200\r\n${header}Content-Length: 0\r\n\r\n`]);
      expect([version, header, keepsOpen]).toEqual([version, header, stays]);
    }
  });

  test("with bytes after its end cannot be trusted with another request", () => {
    for (const more of ["x", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]) {
      expect(read([`${ok}Content-Length: 1\r\n\r\nx${more}`])).toMatchObject({ body: "x", keepsOpen: false });
    }
  });

  test("with both framings is read in chunks, and nothing follows", () => {
    const both = `${ok}Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`;
    expect(read([both])).toMatchObject({ body: "x", complete: true, keepsOpen: false });
  });

  test("joins headers of the same name; equal lengths are one length", () => {
    const answer = read([`${ok}Retry-After: 1\r\nretry-after:2\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx`]);
    expect(answer).toMatchObject({ headers: { "retry-after": "1, 2" }, body: "x", complete: true });
  });

  test("may end its lines with LF alone", () => {
    expect(read(["HTTP/1.1 200 OK\nContent-Length: 1\n\nx"])).toMatchObject({ body: "x", complete: true });
    expect(read(["HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\nx\n0\n\n"])).toMatchObject({
      body: "x",
      complete: true,
    });
  });
});

describe("refused is", () => {
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
  for (const [what, text] of rows) {
    test(`${what}, also byte by byte`, () => {
      expect(() => read([text])).toThrow(HttpSyntaxError);
      expect(() => read([...Buffer.from(text, "latin1")].map((byte) => Uint8Array.of(byte)))).toThrow(HttpSyntaxError);
    });
  }
});

describe("whatever comes", () => {
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

  test("an answer reads the same, wherever it is split", () => {
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

  test("a cut is never complete, at any byte", () => {
    fc.assert(
      fc.property(framings, ({ head, wire }) => {
        const whole = Buffer.concat([Buffer.from(`${ok}${head}\r\n`), wire]);
        for (let cut = 0; cut < whole.length; cut++) {
          expect(read([whole.subarray(0, cut)], true).complete).toBe(false);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("any bytes at all are read or refused, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.uint8Array(), fc.constantFrom(...crumbs)), { maxLength: 12 }), (pieces) => {
        try {
          read(pieces, true);
        } catch (error) {
          expect(error).toBeInstanceOf(HttpSyntaxError);
        }
      }),
    );
  });
});

/** Crumbs of HTTP, out of which nearly right answers are made. */
const crumbs = [
  ok,
  "\r\n",
  "\n",
  "Content-Length: 2\r\n",
  "Transfer-Encoding: chunked\r\n",
  "2\r\nab\r\n",
  "0\r\n\r\n",
  "HTTP/1.1 100\r\n\r\n",
];
