// Builds the dashboard's page from `web/` into `src/dashboard/assets/`, which is committed: running the gateway needs
// neither the page's packages nor a build. `bun scripts/build-dashboard.ts` after each change of the page; a test compares.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dir, "..");
export const assetsFolder = join(root, "src", "dashboard", "assets");

/** Where the gateway serves the files beside the page. */
const assetsPath = "/dashboard/assets";

export interface BuiltPage {
  /** What the browser loads, by file name: `index.html`, one script, one style sheet, one icon. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Builds the page in memory. The same sources give the same bytes, wherever the project's folder is. */
export async function buildDashboard(): Promise<BuiltPage> {
  const result = await Bun.build({
    entrypoints: [join(root, "web", "main.tsx")],
    root: join(root, "web"),
    target: "browser",
    format: "esm",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
    naming: "dashboard.[ext]",
  });
  if (!result.success) throw new AggregateError(result.logs, "the page cannot be built");
  const files = new Map<string, Uint8Array>();
  /** Names the file by its content. The bundler's own hash depends on the project's folder. */
  const add = (name: string, extension: string, bytes: Uint8Array): string => {
    const hash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex").slice(0, 8);
    files.set(`${name}-${hash}.${extension}`, bytes);
    return `${name}-${hash}.${extension}`;
  };
  const built = async (extension: string): Promise<string> => {
    const output = result.outputs.find(({ path }) => path.endsWith(`.${extension}`));
    if (output === undefined) throw new Error(`the build gave no .${extension} file`);
    return add("dashboard", extension, new Uint8Array(await output.arrayBuffer()));
  };
  if (result.outputs.length !== 2) throw new Error(`expected a script and a style sheet, not ${result.outputs.length}`);
  const [script, style] = [await built("js"), await built("css")];
  const icon = add("icon", "svg", await Bun.file(join(root, "web", "icon.svg")).bytes());
  for (const page of ["index.html", "login.html"]) {
    const template = await Bun.file(join(root, "web", page)).text();
    const html = Object.entries({ style, script, icon }).reduce(
      (text, [name, file]) => text.replace(`{{${name}}}`, `${assetsPath}/${file}`),
      template,
    );
    files.set(page, new TextEncoder().encode(html));
  }
  return { files };
}

/** Replaces the content of `assetsFolder`, with a compressed copy (`.gz`) of each file. */
async function write(): Promise<void> {
  const { files } = await buildDashboard();
  mkdirSync(assetsFolder, { recursive: true });
  for (const name of readdirSync(assetsFolder)) rmSync(join(assetsFolder, name));
  let compressed = 0;
  for (const [name, bytes] of files) {
    const gzipped = gzipSync(bytes, { level: 9 });
    compressed += gzipped.length;
    writeFileSync(join(assetsFolder, name), bytes);
    writeFileSync(join(assetsFolder, `${name}.gz`), gzipped);
    console.log(`${name}  ${bytes.length} bytes, ${gzipped.length} gzipped`);
  }
  console.log(`together ${(compressed / 1_024).toFixed(1)} KiB gzipped`);
}

if (import.meta.main) await write();
