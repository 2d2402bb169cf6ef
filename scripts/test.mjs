// `npm test`: installs if needed, then runs all tests. Arguments after `--` go to `bun test`.
import { become, bunBinary, installIfNeeded } from "./toolchain.mjs";

installIfNeeded("all");
become(bunBinary(), ["test", "--timeout", "60000", ...process.argv.slice(2)]);
