// npm runs it before it packs: the package says which commit it was made of (`src/build.ts` reads it).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commitOf, root } from "./common.mjs";

writeFileSync(join(root, "build.json"), `${JSON.stringify({ commit: commitOf() })}\n`);
