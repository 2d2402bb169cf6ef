#!/usr/bin/env node
// The command line, for those who have Node and not Bun: installs what running needs, then hands over to the pinned Bun.
import {
  allocatorSettings,
  become,
  bunBinary,
  commandName,
  installIfNeeded,
  isolated,
  root,
} from "../scripts/toolchain.mjs";

installIfNeeded("runtime");
// In the caller's directory, because that is what the file names on the command line are relative to.
const environment = { ...allocatorSettings(), SMART_GATEWAY_COMMAND: commandName(process.argv[1]) };
become(bunBinary(), [...isolated, `${root}/src/main.ts`, ...process.argv.slice(2)], environment, process.cwd());
