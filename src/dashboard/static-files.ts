import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A file of the page, ready to be sent. */
interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, compressed when the page was built. */
  readonly gzip: Uint8Array<ArrayBuffer> | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** A name with a content hash never means other content: `app-4f9c2b1a.js`. */
const hashed = /-[0-9a-z]{8,}\.\w+$/;

/** The built page, read into memory at the first request: some 200 KB, so that no answer waits for a disk. */
export class StaticFiles {
  readonly #folder: string;
  #read: ReadonlyMap<string, StaticFile> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get #files(): ReadonlyMap<string, StaticFile> {
    this.#read ??= readFiles(this.#folder);
    return this.#read;
  }

  /** The name of the page's icon; empty when there is none. */
  get icon(): string {
    return [...this.#files.keys()].find((name) => name.endsWith(".svg")) ?? "";
  }

  /** The answer with this file; undefined when there is none of the name. */
  answer(name: string, request: Request, common: Readonly<Record<string, string>>): Response | undefined {
    const file = this.#files.get(name);
    if (file === undefined) return undefined;
    const { "content-type": type = "", ...rest } = file.headers;
    const headers = { ...common, ...rest };
    if (isCurrent(request.headers.get("if-none-match"), rest["etag"])) {
      return new Response(null, { status: 304, headers });
    }
    return file.gzip !== undefined && acceptsGzip(request.headers.get("accept-encoding"))
      ? new Response(file.gzip, { headers: { ...headers, "content-type": type, "content-encoding": "gzip" } })
      : new Response(file.bytes, { headers: { ...headers, "content-type": type } });
  }
}

function readFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(folder);
  const read = (name: string) => new Uint8Array(readFileSync(join(folder, name)));
  return new Map(
    names.flatMap((name) => {
      const type = types[name.split(".").at(-1) ?? ""];
      if (type === undefined) return [];
      const bytes = read(name);
      const headers = {
        "content-type": type,
        etag: `"${new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
        "cache-control": hashed.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
        vary: "accept-encoding",
      };
      return [[name, { bytes, gzip: names.includes(`${name}.gz`) ? read(`${name}.gz`) : undefined, headers }] as const];
    }),
  );
}

/** Both encodings have one tag: it names the content, and `vary` says the rest. */
function isCurrent(given: string | null, etag: string | undefined): boolean {
  return (given ?? "").split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

function acceptsGzip(accepted: string | null): boolean {
  return /(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted ?? "");
}
