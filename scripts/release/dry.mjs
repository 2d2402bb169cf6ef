// `npm run release:dry`: all that a release uploads, made from this clone and not uploaded. Prints each artefact with its size.
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { installIfNeeded } from "../toolchain.mjs";
import { folder, root, run } from "./common.mjs";

installIfNeeded("all");
rmSync(folder, { recursive: true, force: true });
for (const step of ["package", "executables", "image", "chart", "notes"])
  process.stdout.write(run(process.execPath, [join(root, "scripts", "release", `${step}.mjs`)]));
for (const name of readdirSync(folder).sort())
  console.log(`${(statSync(join(folder, name)).size / 1e6).toFixed(2).padStart(8)} MB  ${name}`);
