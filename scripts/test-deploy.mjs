// `npm run test:deploy`: builds the executable and tests what people deploy: it, the image, the chart, the compose file and the unit.
// What a missing tool leaves out is said. On Debian: apt-get install buildah mmdebstrap systemd haproxy faketime patroni etcd-server postgresql;
// Helm, and the schemas of its manifests: see deploy/test/chart.deploy.ts.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { become, bunBinary, installIfNeeded, root } from "./toolchain.mjs";

installIfNeeded("all");
const built = spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], { stdio: "inherit" });
if (built.status !== 0) process.exit(built.status ?? 1);
const tests = readdirSync(join(root, "deploy", "test")).filter((name) => name.endsWith(".deploy.ts"));
become(bunBinary(), ["test", "--timeout", "60000", ...tests.map((name) => `./deploy/test/${name}`)]);
