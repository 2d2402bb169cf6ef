// `npm test`: installs if needed, then runs all tests. Arguments after `--` go to `bun test`.
// The time limit is for tests that hang, not for slow machines: starting processes and browsers takes long on a busy one.
import { temporaryFolderInMemory } from "./temporary-folder.mjs";
import { become, bunBinary, installIfNeeded } from "./toolchain.mjs";

installIfNeeded("all");
const folder = temporaryFolderInMemory();
become(bunBinary(), ["test", "--timeout", "60000", ...process.argv.slice(2)], folder && { TMPDIR: folder });
