import { closeSync, openSync, rmSync, statSync, writeSync } from "node:fs";

/** About what a batch adds to the write-ahead log. */
const probeBytes = 64 * 1_024;

/** What the usual ones mean; of others the code says enough. */
const meanings: { readonly [code: string]: string } = {
  EACCES: "the process may not write in the database's directory",
  EDQUOT: "the disk quota is used up",
  EFBIG: "a limit of the process or of the file system on the size of files is reached",
  EIO: "the disk fails",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
};

/**
 * Why the operating system takes no writes beside an SQLite file: SQLite says "disk I/O error" to all causes but a full disk. Found out
 * with a file of its own, written where the database's files end, so that it meets the same limits. Undefined if that succeeds.
 */
export function diskFaultOf(path: string): string | undefined {
  const probe = `${path}-probe-${process.pid}`;
  try {
    writeProbe(probe, Math.max(sizeOf(path), sizeOf(`${path}-wal`)));
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return code === "" ? undefined : `${code}: ${meanings[code] ?? "the operating system refuses to write"}`;
  } finally {
    try {
      rmSync(probe, { force: true });
    } catch {
      // Where it cannot be deleted, it could not be made either.
    }
  }
}

function writeProbe(path: string, from: number): void {
  // Left behind by a process that was killed; and a link that somebody has put there is not followed.
  rmSync(path, { force: true });
  const file = openSync(path, "wx", 0o600);
  try {
    // A write may end early at a limit; the one behind it names the cause.
    for (let written = 0; written < probeBytes; ) {
      written += writeSync(file, new Uint8Array(probeBytes - written), 0, probeBytes - written, from + written);
    }
  } finally {
    closeSync(file);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
