import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { check } from "recheck";

/**
 * The process that judges how long a regular expression can take: a line with a list of patterns in, a line with a verdict
 * on each out. It is large, slow and may need hundreds of megabytes, so it does not live in the gateway's process. It ends with its
 * answer, or with its input, at once, also in the middle of a check: when the gateway dies, nothing of this is left.
 */

/** How a pattern's time grows, as recheck says it. */
export interface Verdict {
  readonly status: "safe" | "vulnerable" | "unknown";
  readonly complexity?: string | undefined;
}

/** What recheck itself may spend on one pattern; it then answers `unknown`. */
const timeoutMs = 5_000;

try {
  // Where memory is short, the system is to end this process and not the gateway.
  writeFileSync("/proc/self/oom_score_adj", "1000");
} catch {
  // Not Linux, or not allowed.
}

const lines = createInterface({ input: process.stdin });
lines.on("close", () => process.exit(0));
lines.once("line", async (line) => {
  const patterns: string[] = JSON.parse(line);
  for (const pattern of patterns) {
    const found = await check(pattern, "g", { timeout: timeoutMs });
    const complexity = found.status === "unknown" ? undefined : found.complexity.type;
    const verdict: Verdict = { status: found.status, complexity };
    process.stdout.write(`${JSON.stringify(verdict)}\n`);
  }
  lines.close();
});
