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

export interface Quality {
  /** Area under the performance gap recovered, over the share sent to the strong model; random gives 0.5. */
  readonly apgr: number;
  /** Smallest shares that recover half and four fifths of the gap; random gives 0.5 and 0.8. */
  readonly cpt50: number;
  readonly cpt80: number;
}

/** How well a score selects the prompts for the strong model. Equal scores count as one straight segment. */
export function qualityOf(rows: readonly Scored[]): Quality {
  const sorted = [...rows].sort((a, b) => b.score - a.score);
  const gap = sorted.reduce((sum, row) => sum + row.strong - row.weak, 0);
  let share = 0;
  let recovered = 0;
  let apgr = 0;
  const reached: [number, number][] = [[0, 0]];
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    let gain = 0;
    while (to < sorted.length && sorted[to]?.score === sorted[from]?.score) {
      gain += (sorted[to]?.strong ?? 0) - (sorted[to]?.weak ?? 0);
      to++;
    }
    const step = (to - from) / sorted.length;
    apgr += step * (recovered + gain / gap / 2);
    share += step;
    recovered += gain / gap;
    reached.push([share, recovered]);
    from = to;
  }
  return { apgr, cpt50: shareFor(0.5, reached), cpt80: shareFor(0.8, reached) };
}

function shareFor(goal: number, reached: readonly [number, number][]): number {
  for (let index = 1; index < reached.length; index++) {
    const [x0, y0] = reached[index - 1] ?? [0, 0];
    const [x1, y1] = reached[index] ?? [1, 1];
    if (y1 >= goal) return y1 === y0 ? x1 : x0 + ((x1 - x0) * (goal - y0)) / (y1 - y0);
  }
  return 1;
}
