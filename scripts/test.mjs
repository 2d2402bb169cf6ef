// `npm test`: installs if needed, then runs all tests, in as many processes as the machine has cores. `npm run test:long` runs the long
// forms too: more generated cases, more faults, browsers in every theme. Arguments after `--` go to `bun test`.
// The time limit is for tests that hang, not for slow machines: starting processes and browsers takes long on a busy one.
import { availableParallelism } from "node:os";
import { temporaryFolderInMemory } from "./temporary-folder.mjs";
import { become, bunBinary, installIfNeeded } from "./toolchain.mjs";

installIfNeeded("all");
const folder = temporaryFolderInMemory();
const isLong = process.argv.includes("--long");
const processes = [`--parallel=${Math.min(4, availableParallelism())}`, "--no-isolate"];
become(
  bunBinary(),
  ["test", "--timeout", "60000", ...processes, ...process.argv.slice(2).filter((argument) => argument !== "--long")],
  { ...(folder && { TMPDIR: folder }), ...(isLong && { SMART_GATEWAY_LONG_TESTS: "1" }) },
);
