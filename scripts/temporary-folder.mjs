// Runs on plain Node 20, before anything is installed.
import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./toolchain.mjs";

/** A run of all tests takes less than 1 GB at a time. */
const neededBytes = 4 * 1_024 ** 3;
const prefix = "smart-gateway-tests-";

/**
 * A new folder for the databases of tests, in memory where the system offers enough of it (Linux: `/dev/shm`); undefined elsewhere.
 * It is removed when this process ends. A shared disk may take seconds for one sync. The gateway then rightly answers that its store
 * does not answer, and tests of something else fail. An operator's own TMPDIR stays.
 */
export function temporaryFolderInMemory(root = "/dev/shm") {
  if (process.env.TMPDIR) return undefined;
  try {
    const { bavail, bsize } = statfsSync(root);
    if (bavail * bsize < neededBytes) return undefined;
    removeLeftOver(root);
    const folder = join(root, `${prefix}${process.pid}`);
    mkdirSync(folder);
    // As /tmp: PostgreSQL runs as another user.
    chmodSync(folder, 0o1777);
    process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    return folder;
  } catch {
    return undefined; // no such file system, or not ours to write to: the tests use the usual folder
  }
}

/** Folders of runs that were killed. */
function removeLeftOver(root) {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(prefix) || isAlive(Number(name.slice(prefix.length)))) continue;
    try {
      rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // another user's
    }
  }
}
