import { write, writeSync } from "node:fs";

/** Lines on their way to a file descriptor. Writing one never waits and never throws. */
export interface BufferedOutput {
  write(line: string): void;
  /** Writes out what waits, now; for the end of the process. Gives up on a reader that does not read. */
  flush(): void;
}

export interface BufferedOutputOptions {
  /** Lines are written out when this much has gathered (in characters), or after `flushEveryMs`. */
  readonly batchSize?: number;
  readonly flushEveryMs?: number;
  /** What may wait for a reader that does not read, in characters; lines above that are dropped and counted. */
  readonly maxWaiting?: number;
  /** Makes the line that says how many were dropped. */
  readonly dropped: (lines: number) => string;
}

/** How long to wait before asking again a pipe that is full. */
const fullPipeMs = 20;
const flushPatienceMs = 500;

/**
 * A line costs no system call of its own, and a reader that stalls (a full disk, a stopped pager) never stops the event loop:
 * one write at a time is under way in the background, what comes meanwhile waits, in order, up to a bound.
 */
export function bufferedOutput(fd: number, options: BufferedOutputOptions): BufferedOutput {
  const { batchSize = 32_768, flushEveryMs = 100, maxWaiting = 8_388_608, dropped } = options;
  let waiting = "";
  let lost = 0;
  let underWay: Buffer | undefined;
  let underWaySinceMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The reader is gone for good: there is nobody to write to. */
  let gone = false;

  function later(delayMs: number): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      begin();
    }, delayMs);
    timer.unref();
  }

  /** What waits, as one piece, preceded by what has to be said about lines that are missing from it. */
  function take(): Buffer {
    const text = lost > 0 ? waiting + dropped(lost) : waiting;
    waiting = "";
    lost = 0;
    return Buffer.from(text);
  }

  function begin(): void {
    if (underWay !== undefined || (waiting === "" && lost === 0) || gone) return;
    underWay = take();
    underWaySinceMs = performance.now();
    send();
  }

  function send(): void {
    if (underWay === undefined) return;
    write(fd, underWay, (error, written) => {
      if (underWay === undefined) return;
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") {
        gone = true;
        waiting = "";
        underWay = undefined;
        return;
      }
      underWay = underWay.subarray(error === null ? written : 0);
      if (error !== null) setTimeout(send, fullPipeMs).unref();
      else if (underWay.length > 0) send();
      else {
        underWay = undefined;
        if (waiting.length >= batchSize) begin();
        else if (waiting !== "" || lost > 0) later(flushEveryMs);
      }
    });
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (underWay !== undefined) {
      // Nobody reads: a write that waits for the reader would keep the process from ending.
      if (performance.now() - underWaySinceMs > flushPatienceMs) return;
      // The kernel has it already, and a moment is enough; what follows must not overtake it.
      Bun.sleepSync(fullPipeMs);
      underWay = undefined;
    }
    let rest = take();
    for (let waitedMs = 0; rest.length > 0 && !gone && waitedMs < flushPatienceMs; ) {
      try {
        rest = rest.subarray(writeSync(fd, rest));
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
        Bun.sleepSync(fullPipeMs);
        waitedMs += fullPipeMs;
      }
    }
  }

  return {
    write(line) {
      if (gone) return;
      if (waiting.length + line.length > maxWaiting) {
        lost += 1;
        return;
      }
      waiting += line;
      if (waiting.length >= batchSize) begin();
      else later(flushEveryMs);
    },
    flush,
  };
}
