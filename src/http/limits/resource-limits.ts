import { openFileLimit } from "#platform/open-file-limit.ts";

/** The resource limits of this process, read from the files of Linux; conservative defaults on other systems. */

/** Gives a small file's text; undefined when it cannot be read. */
export type ReadText = (path: string) => string | undefined;

/** The database, the listener, logs, modules, and a reserve. */
const reservedDescriptors = 128;
/** A stream holds two sockets, the caller's and the upstream's. */
const descriptorsPerStream = 2;
/** Connections to one address come from one range of ports, 28,000 of them by default on Linux. */
const maxStreamsToOneAddress = 25_000;
/** Where the limit is not known: what a common default of 10,240 descriptors would allow. */
const unknownDescriptors = 10_240;

/** How many streams may be open at once, from the soft limit of open files (`ulimit -n`). At least 1. */
export function maxStreams(read: ReadText): number {
  const descriptors = openFileLimit(read) ?? unknownDescriptors;
  const streams = Math.floor((descriptors - reservedDescriptors) / descriptorsPerStream);
  return Math.max(1, Math.min(maxStreamsToOneAddress, streams));
}

/** A memory limit, and how much of it is used when others share it. */
export interface MemoryLimit {
  readonly limitBytes: number;
  /** Bytes that count against the limit and cannot be dropped, of all processes in the group; undefined when not limited by one. */
  readonly usedByGroup?: () => number | undefined;
}

/**
 * The tightest of the control groups this process is in (a container's or a service's limit), else the machine's memory.
 * Both versions of control groups are understood.
 */
export function memoryLimit(read: ReadText, machineBytes: number): MemoryLimit {
  let tightest: MemoryLimit = { limitBytes: machineBytes };
  for (const { folder, limitFile, usageFile } of groupFolders(read("/proc/self/cgroup") ?? "")) {
    const limitBytes = Number(read(`${folder}/${limitFile}`)?.trim() || Number.NaN);
    if (!(limitBytes > 0 && limitBytes < tightest.limitBytes)) continue;
    tightest = { limitBytes, usedByGroup: () => usedBytes(read, folder, usageFile) };
  }
  return tightest;
}

function groupFolders(membership: string): { folder: string; limitFile: string; usageFile: string }[] {
  const folders: { folder: string; limitFile: string; usageFile: string }[] = [];
  for (const line of membership.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined || controllers === undefined) continue;
    const second = controllers === "";
    if (!second && !controllers.split(",").includes("memory")) continue;
    const root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const limitFile = second ? "memory.max" : "memory.limit_in_bytes";
    const usageFile = second ? "memory.current" : "memory.usage_in_bytes";
    // A limit may be set at any level above; inside a container the group's own folder is the root.
    const steps = path.split("/").filter((step) => step !== "" && step !== "..");
    for (let depth = 0; depth <= steps.length; depth++) {
      folders.push({ folder: [root, ...steps.slice(0, depth)].join("/"), limitFile, usageFile });
    }
  }
  return folders;
}

/** File cache that was not used lately is given back when memory is short, so it does not count. */
function usedBytes(read: ReadText, folder: string, usageFile: string): number | undefined {
  const used = Number(read(`${folder}/${usageFile}`)?.trim() || Number.NaN);
  if (!Number.isFinite(used)) return undefined;
  const stat = read(`${folder}/memory.stat`) ?? "";
  // The older layout counts the folders below in `total_…` only; the newer one has no other way of counting.
  const idle = (/^total_inactive_file (\d+)$/m.exec(stat) ?? /^inactive_file (\d+)$/m.exec(stat))?.[1];
  return Math.max(0, used - Number(idle ?? 0));
}
