import { expect, test } from "bun:test";
import { join } from "node:path";
import { whyUncounted } from "../../bench/support/counters.ts";
import { root } from "../harness/process.ts";

/**
 * What a small chat request costs on the gateway's main thread and the ledger's, divided by what it costs the bare proxy. Taken from
 * processor time (354 µs and 60 µs), because instructions could not be counted where it was last measured. Record the ratio of the
 * instructions wherever they can be counted, and whenever requests become cheaper.
 */
const recordedRatio = 5.9;
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
