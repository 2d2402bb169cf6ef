import { readdirSync, readFileSync } from "node:fs";
import { openFileLimit } from "#platform/open-file-limit.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** Metrics of the process itself, under the names that Prometheus client libraries use. */
export function declareProcessMetrics(registry: MetricsRegistry): void {
  const startedAt = Date.now() / 1_000 - process.uptime();
  registry.gauge("process_start_time_seconds", "Start of the process, in seconds since the Unix epoch.", [], (set) =>
    set(startedAt),
  );
  registry.gauge("process_resident_memory_bytes", "Resident memory, in bytes.", [], (set) =>
    set(process.memoryUsage.rss()),
  );
  registry.gauge("process_open_fds", "Open file descriptors (Linux).", [], (set) => {
    const count = openDescriptors();
    if (count !== undefined) set(count);
  });
  registry.gauge("process_max_fds", "Most file descriptors the process may open (Linux).", [], (set) => {
    const limit = openFileLimit(readText);
    if (limit !== undefined && Number.isFinite(limit)) set(limit);
  });
  registry.readCounter("process_cpu_seconds_total", "Processor time, user and system, in seconds.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  });
}

function openDescriptors(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined; // not Linux
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // not Linux
  }
}
