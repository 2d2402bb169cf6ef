import { closeSync, ftruncateSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";

/** About what a batch adds to the write-ahead log. */
const probeBytes = 64 * 1_024;

/**
 * Why the operating system takes no writes beside an SQLite file: SQLite says "disk I/O error" to all causes but a full
 * disk. Found out with a file of its own, written where the database's files end, so that it meets the same limits.
 * Undefined if that succeeds.
 */
export function diskFaultOf(path: string): string | undefined {
  const probe = `${path}-probe-${process.pid}`;
  try {
    // Left behind by a process that was killed; and a link that somebody has put there is not followed.
    rmSync(probe, { force: true });
    const ends = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
    writeProbe(openSync(probe, "ax", 0o600), Math.max(...ends));
    return undefined;
  } catch (error) {
    // As the operating system says it: `ENOSPC: no space left on device, write`.
    return error instanceof Error && "code" in error ? error.message : undefined;
  } finally {
    try {
      rmSync(probe, { force: true });
    } catch {
      // Where it cannot be deleted, it could not be made either.
    }
  }
}

function writeProbe(file: number, from: number): void {
  try {
    ftruncateSync(file, from);
    writeFileSync(file, new Uint8Array(probeBytes));
  } finally {
    closeSync(file);
  }
}
