// `npm run cluster`: see cluster.ts.
import { become, bunBinary, installIfNeeded, root } from "./toolchain.mjs";

installIfNeeded("all");
become(bunBinary(), ["scripts/cluster.ts"], {}, root);
