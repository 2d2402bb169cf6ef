// The npm package: what `npm publish` uploads.
import { folder, run } from "./common.mjs";

run("npm", ["pack", "--pack-destination", folder]);
