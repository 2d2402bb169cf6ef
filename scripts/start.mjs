// `npm start`: installs what running needs, then runs the gateway. Arguments after `--` go to `smart-gateway serve`.
import { allocatorSettings, become, bunBinary, commandName, installIfNeeded, isolated } from "./toolchain.mjs";

installIfNeeded("runtime");
const environment = { ...allocatorSettings(), SMART_GATEWAY_COMMAND: commandName(process.argv[1]) };
become(bunBinary(), [...isolated, "src/main.ts", "serve", ...process.argv.slice(2)], environment);
