import { cpus, loadavg, totalmem } from "node:os";
import type { Case } from "../support/cases.ts";
import { lowerQuartile, median } from "../support/quantiles.ts";
import { canPin } from "../support/servers.ts";
import type { LatencyRound, LoadRound, Measured, Memory } from "./measure.ts";

/** Writes the results as Markdown. */

const cpu = (rounds: readonly LoadRound[]) => lowerQuartile(rounds.map(({ cpuUs }) => cpuUs));
const p50 = (rounds: readonly LatencyRound[]) => median(rounds.map(({ p50Ms }) => p50Ms));
const p99 = (rounds: readonly LatencyRound[]) => median(rounds.map(({ p99Ms }) => p99Ms));

const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const micro = (value: number) => (value < 100 ? value.toFixed(1) : whole(value));

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** One table with a row for each server. The others are compared with the first. */
export function caseTable(kind: Case, direct: Measured, all: readonly Measured[]): string {
  const bare = all[0] === undefined ? Number.NaN : cpu(all[0].loads);
  const rows = all.map(({ name, problem, loads, latencies }) => {
    if (problem !== undefined) return [name, problem, "", "", "", ""];
    const above = (figure: typeof p50) =>
      latencies.length === 0 ? "" : `${(figure(latencies) - figure(direct.latencies)).toFixed(2)} ms`;
    const rate = whole(median(loads.map(({ perSecond }) => perSecond)));
    return [name, `${micro(cpu(loads))} µs`, (cpu(loads) / bare).toFixed(2), rate, above(p50), above(p99)];
  });
  const unit = (kind.eventsPerRequest ?? 1) > 1 ? "an event" : "a request";
  const head = ["", `CPU ${unit}`, "× bare proxy", "per second", "p50 above direct", "p99 above direct"];
  const rounds = all[0]?.loads.length ?? 0;
  const load = `${kind.connections} connections, ${rounds} rounds of at most ${kind.requestsPerRound} requests`;
  const alone =
    direct.latencies.length === 0
      ? ""
      : `; one connection directly: p50 ${p50(direct.latencies).toFixed(2)} ms, p99 ${p99(direct.latencies).toFixed(2)} ms`;
  return `**${kind.about}** (${load}${alone})\n\n${table(head, rows)}\n`;
}

export function memoryTable(counts: readonly number[], memories: readonly { name: string; memory: Memory | string }[]) {
  const rows = memories.map(({ name, memory }) => {
    if (typeof memory === "string") return [name, memory, ...counts.map(() => "")];
    const streams = counts.map((count, index) => {
      const { opened, eachBytes } = memory.streams[index] ?? { opened: 0, eachBytes: 0 };
      const some = opened < count ? ` (only ${whole(opened)} opened in time)` : "";
      return `${(eachBytes / 1_000).toFixed(1)} kB${some}`;
    });
    return [name, `${whole(memory.restBytes / 1e6)} MB`, ...streams];
  });
  return `**Resident memory**\n\n${table(["", "at rest", ...counts.map((count) => `each of ${whole(count)} open streams`)], rows)}\n`;
}

/** The machine and its load. */
export function conditions(): string {
  const [processor] = cpus();
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(", ");
  return [
    new Date().toISOString().slice(0, 16).replace("T", " "),
    `${cpus().length} × ${processor?.model.trim()}`,
    `${(totalmem() / 1e9).toFixed(0)} GB`,
    `load ${load} (1, 5, 15 minutes)`,
    canPin ? "servers on core 0, load generator and upstream on core 1" : "not pinned to cores",
  ].join("; ");
}
