import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..", "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const records = readdirSync(join(root, "docs/decisions"))
  .filter((name) => /^\d{4}-.+\.md$/.test(name))
  .sort();
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** The text without fenced code, whose brackets are not links. */
const proseOf = (page: string) => read(page).replace(/^```.*?^```$/gms, "");

/** `docs/` and `src/**` count by their part before the first wildcard or placeholder. */
const fixedPart = (path: string) => path.replace(/[^/]*[*<{…].*$/, "");

/** The fragments that the usual hosting service makes of headings. */
const anchorsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading ?? "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

test("the index of the decisions lists every record with its title, and no other, by topic", () => {
  const rows = read("docs/decisions/README.md")
    .split("\n")
    .filter((line) => line.startsWith("* ["));
  const expected = records.map((file) => {
    const title = /^# \d{4}: (.+)$/m.exec(read(`docs/decisions/${file}`))?.[1];
    return `* [${file.slice(0, 4)}](${file}): ${title}`;
  });
  expect(rows.toSorted()).toEqual(expected);
});

test("every decision record has a title, a date, a status, a context, a decision and consequences", () => {
  const form =
    /^# \d{4}: \S.*\n\nDate: \d{4}-\d\d-\d\d {2}\nStatus: \S.*\n\n## Context\n\n[^#][\s\S]*\n## Decision\n\n[^#][\s\S]*\n## Consequences\n\n[^#]/;
  expect(records.filter((file) => !form.test(read(`docs/decisions/${file}`)))).toEqual([]);
  expect(records.filter((file) => !read(`docs/decisions/${file}`).startsWith(`# ${file.slice(0, 4)}: `))).toEqual([]);
});

test.each(pages)("every relative link in %s leads to a file and to a heading of it", (page) => {
  const broken: string[] = [];
  for (const [, target = ""] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path = "", fragment] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) broken.push(target);
    else if (fragment !== undefined && file.endsWith(".md") && !anchorsOf(file).includes(fragment)) broken.push(target);
  }
  expect(broken).toEqual([]);
});

test.each(pages)("every path of the project that %s names exists", (page) => {
  const named = [...proseOf(page).matchAll(/`((?:src|docs|bench|test|scripts)\/[^`\s:]*)/g)].map(
    ([, path = ""]) => path,
  );
  expect(named.filter((path) => !existsSync(join(root, fixedPart(path))))).toEqual([]);
});

/** Every word of the sources, so that a page cannot keep an old name. */
const wordsOfSources = () => {
  const files = ["src", "test", "scripts"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(?:ts|mjs)$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  return new Set(files.flatMap((file) => read(file).match(/\w+/g) ?? []));
};

test.each(["CONTRIBUTING.md", "docs/architecture.md"])("every name of the code in %s is in the code", (page) => {
  const spans = [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);
  const names = spans.flatMap((text) => text.match(/\b(?:[a-z]+|[A-Z][a-z]+)[A-Z]\w*/g) ?? []);
  expect(names.length).toBeGreaterThan(0);
  const words = wordsOfSources();
  expect(names.filter((name) => !words.has(name))).toEqual([]);
});
