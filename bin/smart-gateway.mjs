#!/usr/bin/env node
// The command line, for those who have Node and not Bun: installs if needed, then hands over to the pinned Bun.
import { become, bunBinary, installIfNeeded, root } from "../scripts/toolchain.mjs";

installIfNeeded();
// In the caller's directory, because that is what the file names on the command line are relative to.
become(bunBinary(), [`${root}/src/main.ts`, ...process.argv.slice(2)], {}, process.cwd());
