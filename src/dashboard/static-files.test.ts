import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { staticFiles } from "./static-files.ts";

const folder = mkdtempSync(join(tmpdir(), "assets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "index.html"), "<p>page</p>");
writeFileSync(join(folder, "dashboard-4f9c2b1a.js"), "run()");
writeFileSync(join(folder, "dashboard-4f9c2b1a.js.gz"), Bun.gzipSync("run()"));
writeFileSync(join(folder, "notes.secret"), "x");
const files = staticFiles(folder);

function get(name: string, headers: Record<string, string> = {}) {
  return files.answer(name, new Request("http://gateway/", { headers }), { "x-request-id": "r" });
}

test("a file with a content hash is cached forever, the page is revalidated", () => {
  expect(get("dashboard-4f9c2b1a.js")?.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(get("index.html")?.headers.get("cache-control")).toBe("no-cache");
});

test("the compressed copy is sent to callers that accept it", async () => {
  const name = "dashboard-4f9c2b1a.js";
  for (const accepted of ["gzip", "br, gzip", "deflate,gzip;q=0.5", "GZIP"]) {
    const answer = get(name, { "accept-encoding": accepted });
    expect(answer?.headers.get("content-encoding"), accepted).toBe("gzip");
    expect(answer?.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const bytes = new Uint8Array((await answer?.arrayBuffer()) ?? new ArrayBuffer(0));
    expect(Buffer.from(Bun.gunzipSync(bytes)).toString()).toBe("run()");
  }
  for (const accepted of ["", "br", "gzip;q=0", "gzip; q=0.0, br", "xgzip"]) {
    const answer = get(name, { "accept-encoding": accepted });
    expect(answer?.headers.get("content-encoding"), accepted).toBeNull();
    expect(await answer?.text()).toBe("run()");
    expect(answer?.headers.get("vary")).toBe("accept-encoding");
  }
});

test("only files of the page are served, and none outside its folder", () => {
  for (const name of ["notes.secret", "dashboard-4f9c2b1a.js.gz", "../index.html", "", "constructor"]) {
    expect(get(name), name).toBeUndefined();
  }
});
