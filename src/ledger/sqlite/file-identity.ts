import { statSync } from "node:fs";

/** Tells whether a path still names the same file. */
export interface FileIdentity {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

export function identityOf(path: string): FileIdentity | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : { path, device: found.dev, inode: found.ino };
}
