import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** One row of the routing development data; see the README beside the data for every field. */
export interface Row {
  readonly source: string;
  readonly id: string;
  readonly prompt: string;
  readonly tools?: readonly string[];
  readonly weak_score?: number;
  readonly strong_score?: number;
  readonly p_fail?: number;
  readonly difficulty?: number;
  readonly tier?: "SIMPLE" | "MEDIUM" | "COMPLEX" | "REASONING";
  readonly kind?: string;
  readonly risk?: "low" | "medium" | "high" | "critical";
  readonly lang?: string;
  readonly group: string;
  readonly split: "train" | "valid";
}

const folder = join(import.meta.dirname, "../../../shared/routing-dev");

/** All rows by source; undefined if the data is absent. */
export function routingDev(): ReadonlyMap<string, readonly Row[]> | undefined {
  if (!existsSync(folder)) return undefined;
  return new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl.gz"))
      .map((name) => [name.replace(".jsonl.gz", ""), rowsOf(join(folder, name))]),
  );
}

function rowsOf(path: string): Row[] {
  const lines = gunzipSync(readFileSync(path)).toString("utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** A question with its score and the results of the weak and the strong model. */
export interface Scored {
  readonly score: number;
  readonly weak: number;
  readonly strong: number;
}

/**
 * The average performance gap recovered: how much of the strong model's advantage those prompts have that a score sends to it, over all
 * shares sent; random gives 0.5. Equal scores count as one straight segment.
 */
export function apgr(rows: readonly Scored[]): number {
  const sorted = [...rows].sort((a, b) => b.score - a.score);
  const gap = sorted.reduce((sum, row) => sum + row.strong - row.weak, 0);
  let recovered = 0;
  let area = 0;
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    let gain = 0;
    while (to < sorted.length && sorted[to]?.score === sorted[from]?.score) {
      gain += (sorted[to]?.strong ?? 0) - (sorted[to]?.weak ?? 0);
      to++;
    }
    area += ((to - from) / sorted.length) * (recovered + gain / gap / 2);
    recovered += gain / gap;
    from = to;
  }
  return area;
}
