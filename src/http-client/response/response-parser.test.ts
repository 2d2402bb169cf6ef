import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { jsonLines } from "#platform/testing/json-lines.ts";
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
    ...jsonLines<[string, string]>(import.meta.dir, "fixtures/refused-answers.jsonl"),
    ["a head without end", `${ok}A: ${"x".repeat(70_000)}`],
    ["a chunk's line without end", `${ok}Transfer-Encoding: chunked\r\n\r\n1;${"x".repeat(5_000)}`],
    ["trailers without end", `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${"A: x\r\n".repeat(20_000)}`],
  ];
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
});
