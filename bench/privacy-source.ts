/**
 * What the privacy gate finds in source code that holds no credentials: `bun bench/privacy-source.ts [--show N] [--rule ID] [DIR …]`.
 * Without directories it reads what is usually on a machine: the standard libraries of Go and Python, Python's packages and this
 * project's own sources and `node_modules`. Prints, by language, how many files have a finding, and up to N findings (default 200)
 * with their context. Letters and digits of findings are masked, so that a real key in test data is not printed.
 */
import { execFileSync } from "node:child_process";
import { type Dirent, existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { parseArgs } from "node:util";
import { Policy } from "#config/policy.ts";
import { privacyEngine } from "#privacy/engine.ts";

/** Language by the ending of a file's name; other files are not read. */
const languages = new Map(
  Object.entries({
    Go: ".go",
    Python: ".py .pyi",
    "JS/TS": ".js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte",
    "C/C++": ".c .h .cc .cpp .cxx .hpp .hh .m",
    Rust: ".rs",
    "Java/Kotlin": ".java .kt .kts .scala .groovy",
    "C#": ".cs",
    Ruby: ".rb .rake",
    PHP: ".php",
    Perl: ".pl .pm .t",
    Swift: ".swift",
    Shell: ".sh .bash .zsh",
    Lua: ".lua",
    Elixir: ".ex .exs .erl",
    SQL: ".sql",
  }).flatMap(([language, endings]) => endings.split(" ").map((ending) => [ending, language] as const)),
);
const maxFiles = 200_000;
/** Larger files are generated. */
const maxBytes = 1_048_576;
/** Characters of a line shown on either side of a finding. */
const contextChars = 60;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { show: { type: "string", default: "200" }, rule: { type: "string" } },
});
const directories = positionals.length > 0 ? positionals : usualPlaces();
const maxShown = Number(options.show);
const engine = privacyEngine(Policy.parse({}).privacy);

interface Count {
  files: number;
  bytes: number;
  /** Files with at least one finding. */
  found: number;
}
const byLanguage = new Map<string, Count>();
const byRule = new Map<string, number>();
const shown: string[] = [];
const seen = new Set<string>();
let total = 0;

for (const directory of directories) walk(directory);

console.log("language          files       MB   files with findings   per 1,000 files");
const all: Count = { files: 0, bytes: 0, found: 0 };
for (const [language, count] of [...byLanguage].sort((a, b) => b[1].files - a[1].files)) {
  all.files += count.files;
  all.bytes += count.bytes;
  all.found += count.found;
  console.log(row(language, count));
}
console.log(row("all", all));
console.log(
  `\n${[...byRule]
    .sort((a, b) => b[1] - a[1])
    .map(([rule, count]) => `${rule} ${count}`)
    .join(", ")}`,
);
if (shown.length > 0) console.log(`\n${shown.join("\n")}`);

function row(name: string, { files, bytes, found }: Count): string {
  const rate = files === 0 ? 0 : (1_000 * found) / files;
  return `${name.padEnd(14)} ${String(files).padStart(8)} ${(bytes / 1e6).toFixed(1).padStart(8)} ${String(found).padStart(21)} ${rate.toFixed(2).padStart(17)}`;
}

function usualPlaces(): string[] {
  const root = join(import.meta.dirname, "..");
  const places = ["src", "test", "bench", "scripts", "node_modules"].map((name) => join(root, name));
  const go = output("go", ["env", "GOROOT"]);
  if (go !== "") places.push(join(go, "src"));
  const python = output("python3", ["-c", "import sysconfig; print(sysconfig.get_paths()['stdlib'])"]);
  if (python !== "") places.push(python);
  return places.filter((place) => existsSync(place));
}

/** The output of a program; empty if it is not installed. */
function output(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

function walk(path: string): void {
  if (total >= maxFiles) return;
  // A linked folder is read once, so that files with several names count once and link cycles end.
  const real = realpathSync(path);
  if (seen.has(real)) return;
  seen.add(real);
  if (!statSync(real).isDirectory()) {
    file(path);
    return;
  }
  for (const entry of entriesOf(real)) {
    if (entry.name === ".git") continue;
    const inside = join(real, entry.name);
    if (entry.isDirectory()) walk(inside);
    else if (entry.isFile() && languages.has(extname(entry.name))) file(inside);
  }
}

function entriesOf(directory: string): Dirent[] {
  return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function file(path: string): void {
  const language = languages.get(extname(path));
  if (language === undefined || total >= maxFiles || statSync(path).size > maxBytes) return;
  total++;
  const text = readFileSync(path, "utf8");
  const count = byLanguage.get(language) ?? { files: 0, bytes: 0, found: 0 };
  byLanguage.set(language, count);
  count.files++;
  count.bytes += text.length;
  const places = engine.placesIn(text);
  if (places.length === 0) return;
  count.found++;
  for (const { start, end, rule } of places) {
    byRule.set(rule, (byRule.get(rule) ?? 0) + 1);
    if (shown.length >= maxShown || (options.rule !== undefined && options.rule !== rule)) continue;
    const before =
      text
        .slice(Math.max(0, start - contextChars), start)
        .split("\n")
        .at(-1) ?? "";
    const after = text.slice(end, end + contextChars).split("\n", 1)[0] ?? "";
    shown.push(`${rule} ${before}«${masked(text.slice(start, end))}»${after}\n    ${path}`);
  }
}

/** `Ab3_xY` becomes `Aa0_aA`: the shape, not the value. */
function masked(value: string): string {
  const shape = value.replace(/[A-Z]/g, "A").replace(/[a-z]/g, "a").replace(/[0-9]/g, "0").replace(/\n/g, "⏎");
  return shape.length > 80 ? `${shape.slice(0, 60)}… (${value.length})` : shape;
}
