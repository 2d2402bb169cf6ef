// The npm package: what `npm publish` uploads. The chart's file has the name that npm gives to this one.
import { renameSync } from "node:fs";
import { join } from "node:path";
import { folder, run, version } from "./common.mjs";

run("npm", ["pack", "--silent", "--pack-destination", folder]);
renameSync(join(folder, `smart-gateway-${version}.tgz`), join(folder, `smart-gateway-npm-${version}.tgz`));
