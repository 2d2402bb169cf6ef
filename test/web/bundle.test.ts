import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { assetsFolder, buildDashboard } from "../../scripts/build-dashboard.ts";

const names = readdirSync(assetsFolder);
const read = (name: string): Buffer => readFileSync(join(assetsFolder, name));
const rebuild = "run node_modules/.bin/bun scripts/build-dashboard.ts and commit src/dashboard/assets";

test("the committed page equals the result of its sources", async () => {
  const { files } = await buildDashboard();
  expect(names.filter((name) => !name.endsWith(".gz")).sort(), rebuild).toEqual([...files.keys()].sort());
  for (const [name, bytes] of files) expect(read(name).equals(bytes), `${name}: ${rebuild}`).toBe(true);
});

test("each file has its compressed copy", () => {
  const plain = names.filter((name) => !name.endsWith(".gz"));
  expect(names.filter((name) => name.endsWith(".gz")).sort()).toEqual(plain.map((name) => `${name}.gz`).sort());
  for (const name of plain) expect(gunzipSync(read(`${name}.gz`)).equals(read(name)), name).toBe(true);
});

test("scripts and styles together have at most 150 KB compressed", () => {
  const sizes = names.filter((name) => /\.(js|css)\.gz$/.test(name)).map((name) => read(name).length);
  expect(sizes).toHaveLength(2);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(150_000);
});

test("the page loads nothing from other hosts, and has nothing inline", () => {
  const html = read("index.html").toString();
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i);
  for (const [, script] of html.matchAll(/<script[^>]*>([^<]*)/g)) expect(script).toBe("");
  for (const [, address] of html.matchAll(/(?:src|href)="([^"]*)"/g)) expect(address).toStartWith("/dashboard/assets/");
  const css = names.find((name) => name.endsWith(".css")) ?? "";
  expect(read(css).toString()).not.toMatch(/@import|url\(\s*["']?(?:https?:)?\/\//);
});
