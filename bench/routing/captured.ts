import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assessedBody, routed } from "./assessed.ts";

const folder = join(import.meta.dir, "../../../shared/agent-requests");

/** Captured requests of agents that went to the tier expected, and to the wrong one. */
export interface Captured {
  readonly right: number;
  readonly hardToFlash: readonly string[];
  readonly easyToPro: readonly string[];
}

/** Undefined if the data is absent. */
export function assessCaptured(): Captured | undefined {
  if (!existsSync(folder)) return undefined;
  const labels = JSON.parse(readFileSync(join(folder, "labels.json"), "utf8")) as Record<string, { tier: string }>;
  const wrong = { hardToFlash: [] as string[], easyToPro: [] as string[] };
  let right = 0;
  for (const [name, label] of Object.entries(labels)) {
    const body = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
    const { tier } = routed(assessedBody(body, JSON.stringify(body).length));
    if (label.tier === "any" || label.tier === tier) right++;
    else wrong[tier === "flash" ? "hardToFlash" : "easyToPro"].push(name);
  }
  return { right, ...wrong };
}
