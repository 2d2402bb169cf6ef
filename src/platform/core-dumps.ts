import { writeFileSync } from "node:fs";

/**
 * Leaves memory out of core dumps of this process and of those that it starts (Linux): keys of the environment, prompts
 * and answers would be in a file that nobody expects. Stacks are left out with it; registers and loaded files remain.
 */
export function leaveMemoryOutOfCoreDumps(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Another system, or one whose /proc cannot be written: the operator's limits apply (docs/operating.md).
  }
}
