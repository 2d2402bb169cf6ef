import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A file of the page, ready to be sent. */
interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, compressed when the page was built. */
  readonly gzip?: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
  readonly cache: string;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  json: "application/json",
  webmanifest: "application/manifest+json",
  txt: "text/plain; charset=utf-8",
};

/** A name with a content hash never means other content: `app-4f9c2b1a.js`. */
const hashed = /[-.][0-9a-z]{8,}\.\w+$/;

/** The built page, read into memory at the first request: some 200 KB, so that no answer waits for a disk. */
export class StaticFiles {
  readonly #folder: string;
  #files: ReadonlyMap<string, StaticFile> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The answer with this file; undefined when there is none of the name. */
  answer(name: string, request: Request, common: Readonly<Record<string, string>>): Response | undefined {
    this.#files ??= filesIn(this.#folder);
    const file = this.#files.get(name);
    if (file === undefined) return undefined;
    const headers: Record<string, string> = {
      ...common,
      etag: file.etag,
      "cache-control": file.cache,
      vary: "accept-encoding",
    };
    if (matches(request.headers.get("if-none-match"), file.etag)) return new Response(null, { status: 304, headers });
    headers["content-type"] = file.type;
    if (file.gzip !== undefined && takesGzip(request.headers.get("accept-encoding"))) {
      return new Response(file.gzip, { headers: { ...headers, "content-encoding": "gzip" } });
    }
    return new Response(file.bytes, { headers });
  }
}

function filesIn(folder: string): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(folder);
  const bytesOf = (name: string) => new Uint8Array(readFileSync(join(folder, name)));
  return new Map(
    names.flatMap((name) => {
      const type = types[name.split(".").at(-1) ?? ""];
      if (type === undefined) return [];
      const bytes = bytesOf(name);
      const etag = `"${new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
      const cache = hashed.test(name) ? "public, max-age=31536000, immutable" : "no-cache";
      const gzip = names.includes(`${name}.gz`) ? { gzip: bytesOf(`${name}.gz`) } : {};
      return [[name, { bytes, ...gzip, type, etag, cache }] as const];
    }),
  );
}

/** Both encodings have one tag: it names the content, and `vary` says the rest. */
function matches(given: string | null, etag: string): boolean {
  if (given === null) return false;
  return given.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

function takesGzip(accepted: string | null): boolean {
  return /(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted ?? "");
}
