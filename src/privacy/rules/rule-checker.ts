import { fileURLToPath } from "node:url";
import { z } from "zod";

/** What the checker found: how a pattern's time grows, as recheck says it. */
const Verdict = z.object({
  status: z.enum(["safe", "vulnerable", "unknown"]),
  complexity: z.string().optional(),
});
export type Verdict = z.infer<typeof Verdict>;

export interface RuleCheckerOptions {
  /** Ends the check: the process is killed and `CheckAborted` is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** How long one pattern may take, the start of the process included, in milliseconds. */
  readonly limitMs?: number | undefined;
}

/** recheck's own limit is 5 s; a busy machine needs a while to start the process. */
const defaultLimitMs = 20_000;
/** A process that ended by itself (out of memory, a signal) is started anew this often per pattern. */
const maxRestarts = 1;
/** A policy has at most 100 rules; verdicts of earlier policies are kept, so that changing back costs nothing. */
const maxCachedVerdicts = 1_000;

/** The pattern was not checked; the message says why. */
export class CheckAborted extends Error {}

const verdicts = new Map<string, Verdict>();

/**
 * Checks patterns one after the other in a process that lives only as long as there is something to check. What was checked
 * once is not checked again. Every check ends: in a verdict, or in `CheckAborted` after the time limit, a second crash of
 * the process, or the signal.
 */
export class RuleChecker {
  readonly #signal: AbortSignal | undefined;
  readonly #limitMs: number;
  #process: CheckerProcess | undefined;

  constructor({ signal, limitMs = defaultLimitMs }: RuleCheckerOptions = {}) {
    this.#signal = signal;
    this.#limitMs = limitMs;
  }

  async verdictOf(pattern: string): Promise<Verdict> {
    const known = verdicts.get(pattern);
    if (known !== undefined) return known;
    const verdict = await this.#checked(pattern);
    // A busy machine may be why recheck ran out of time: asking again may help.
    if (verdict.status === "unknown") return verdict;
    verdicts.set(pattern, verdict);
    for (const oldest of verdicts.keys()) {
      if (verdicts.size <= maxCachedVerdicts) break;
      verdicts.delete(oldest);
    }
    return verdict;
  }

  /** Ends the process. */
  close(): void {
    this.#process?.kill();
    this.#process = undefined;
  }

  async #checked(pattern: string): Promise<Verdict> {
    for (let starts = 0; ; starts++) {
      if (this.#signal?.aborted) throw new CheckAborted("the check was given up");
      try {
        this.#process ??= startProcess();
      } catch (error) {
        throw new CheckAborted("the checker could not be started", { cause: error });
      }
      const { answer, stop } = stoppable(this.#process.ask(pattern), this.#limitMs, this.#signal);
      try {
        const verdict = await answer;
        if (verdict !== undefined) return verdict;
      } catch (error) {
        this.close();
        throw error;
      } finally {
        stop();
      }
      this.close();
      if (starts >= maxRestarts) throw new CheckAborted("the checker ended without an answer");
    }
  }
}

interface CheckerProcess {
  /** Undefined when the process ended instead of answering. */
  ask(pattern: string): Promise<Verdict | undefined>;
  kill(): void;
}

function startProcess(): CheckerProcess {
  const child = Bun.spawn([process.execPath, fileURLToPath(new URL("./rule-checker-process.ts", import.meta.url))], {
    // Of its ways to compute, the one that needs no further process; the rest of our environment is none of its business.
    env: { RECHECK_BACKEND: "worker" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const lines = linesOf(child.stdout);
  return {
    async ask(pattern) {
      try {
        child.stdin.write(`${JSON.stringify(pattern)}\n`);
        await child.stdin.flush();
        const { value } = await lines.next();
        return value === undefined ? undefined : Verdict.parse(JSON.parse(value));
      } catch {
        return undefined; // it ended, or answered in half a line: either way there is no verdict
      }
    },
    // A stopped process takes no other signal.
    kill: () => child.kill("SIGKILL"),
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
  return undefined;
}

/** The answer, or `CheckAborted` after the limit or the signal. */
function stoppable<T>(asked: Promise<T>, limitMs: number, signal: AbortSignal | undefined) {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new CheckAborted(`the checker did not answer within ${limitMs / 1_000} s`)),
    limitMs,
  );
  const onAbort = () => reject(new CheckAborted("the check was given up"));
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    answer: Promise.race([asked, promise]),
    stop() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
