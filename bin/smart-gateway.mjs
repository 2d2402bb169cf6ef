#!/usr/bin/env node
// The command line, for those who have Node and not Bun: installs what running needs, then hands over to the pinned Bun.
import { allocatorSettings, become, bunBinary, installIfNeeded, root } from "../scripts/toolchain.mjs";

installIfNeeded("runtime");
// In the caller's directory, because that is what the file names on the command line are relative to.
become(bunBinary(), [`${root}/src/main.ts`, ...process.argv.slice(2)], allocatorSettings(), process.cwd());
