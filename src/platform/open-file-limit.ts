import { readFileSync } from "node:fs";

/**
 * The soft limit of open files (`ulimit -n`) as Linux states it in `/proc/self/limits`; infinite where there is none,
 * undefined on other systems.
 */
export function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === "unlimited" ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux
  }
}
