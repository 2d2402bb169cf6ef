// `npm start`: installs what running needs, then runs the gateway. Arguments after `--` go to `smart-gateway serve`.
import { allocatorSettings, become, bunBinary, installIfNeeded } from "./toolchain.mjs";

installIfNeeded("runtime");
become(bunBinary(), ["src/main.ts", "serve", ...process.argv.slice(2)], allocatorSettings());
