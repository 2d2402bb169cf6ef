// `node scripts/try-agents.mjs [NAME…]`: runs coding agents with the settings that docs/guides/agents.md gives. Not part of the tests:
// it installs the agents from npm and PyPI, into the system's temporary folder.
import { become, bunBinary, installIfNeeded, root } from "./toolchain.mjs";

installIfNeeded("runtime");
become(bunBinary(), ["scripts/agents/try-agents.ts", ...process.argv.slice(2)], {}, root);
