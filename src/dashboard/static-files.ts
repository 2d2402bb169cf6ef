import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** A name with a content hash never means other content: `app-4f9c2b1a.js`. */
const hashed = /-[0-9a-z]{8,}\.\w+$/;

/** The built page: its files, each with a copy that was compressed when it was built. */
export function staticFiles(folder: string) {
  const names = new Set(readdirSync(folder));
  return {
    text: (name: string) => readFileSync(join(folder, name), "utf8"),
    /** The answer with this file; undefined when there is none of the name. */
    answer(name: string, request: Request, common: Readonly<Record<string, string>>): Response | undefined {
      const type = types[name.split(".").at(-1) ?? ""];
      if (type === undefined || !names.has(name)) return undefined;
      const compressed = `${name}.gz`;
      const asGzip = names.has(compressed) && acceptsGzip(request.headers.get("accept-encoding"));
      const headers = {
        ...common,
        "content-type": type,
        "cache-control": hashed.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
        vary: "accept-encoding",
        ...(asGzip ? { "content-encoding": "gzip" } : {}),
      };
      return new Response(Bun.file(join(folder, asGzip ? compressed : name)), { headers });
    },
  };
}

function acceptsGzip(accepted: string | null): boolean {
  return /(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accepted ?? "");
}
