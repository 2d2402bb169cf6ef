// `npm start`: installs if needed, then runs the gateway. Arguments after `--` go to `smart-gateway serve`.
import { become, bunBinary, installIfNeeded } from "./toolchain.mjs";

installIfNeeded();
become(bunBinary(), ["src/main.ts", "serve", ...process.argv.slice(2)]);
