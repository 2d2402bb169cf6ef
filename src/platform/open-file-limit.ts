/**
 * The soft limit of open files (`ulimit -n`) as Linux states it in `/proc/self/limits`; infinite where there is none, undefined
 * where it cannot be read. `read` gives a file's text, or undefined.
 */
export function openFileLimit(read: (path: string) => string | undefined): number | undefined {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(read("/proc/self/limits") ?? "")?.[1];
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft);
}
