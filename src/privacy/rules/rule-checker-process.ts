import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { check } from "recheck";

/**
 * The process that judges how long a regular expression can take: a line of JSON in, a line of JSON out. It is large, slow and
 * may need hundreds of megabytes, so it does not live in the gateway's process. It ends with its input, at once, also in the
 * middle of a check: when the gateway dies, by whatever signal, nothing of this is left.
 */

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
lines.on("line", async (line) => {
  const pattern: unknown = JSON.parse(line);
  const found = await check(String(pattern), "g", { timeout: timeoutMs });
  const complexity = found.status === "unknown" ? undefined : found.complexity.type;
  process.stdout.write(`${JSON.stringify({ status: found.status, complexity })}\n`);
});
