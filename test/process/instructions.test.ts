import { expect, test } from "bun:test";
import { join } from "node:path";
import { whyUncounted } from "../../bench/support/counters.ts";
import { root } from "../harness/process.ts";

/**
 * Instructions of a small chat request, on the gateway's main thread and the ledger's, divided by those of the bare proxy: 356,000
 * and 106,000 when they were last recorded. Whoever makes requests cheaper records it here.
 */
const recordedRatio = 3.4;
/** What a slip may cost before it is caught; runtimes and processors differ by less. */
const margin = 1.5;

interface Figures {
  readonly instructions: { readonly main: number; readonly ledger: number; readonly total: number };
}

const uncounted = process.platform === "linux" ? whyUncounted() : "perf counts on Linux only";
const whyNot = uncounted === undefined ? "" : ` (${uncounted.split("\n")[0]})`;

test.skipIf(uncounted !== undefined)(
  `a small chat request takes at most one and a half times the instructions recorded, beside the bare proxy${whyNot}`,
  async () => {
    const args = ["--case", "small", "--rounds", "3", "--warmup", "12000", "--json"];
    const child = Bun.spawn([process.execPath, join(root, "bench/instructions.ts"), ...args], { stderr: "inherit" });
    const { figures } = JSON.parse(await new Response(child.stdout).text());
    const [bare, gateway]: Figures[] = figures;
    if (bare === undefined || gateway === undefined) throw new Error("the bench has measured less than two servers");
    const ratio = (gateway.instructions.main + gateway.instructions.ledger) / bare.instructions.total;
    expect(ratio).toBeGreaterThan(1);
    expect(ratio).toBeLessThan(margin * recordedRatio);
  },
  120_000,
);
