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
  /**
   * Largest single write, in bytes, cut between lines. A pipe takes 4,096 in one piece: where several processes share one, no
   * more may be written at once, or their lines get mixed. A line longer than that goes alone.
   */
  readonly pieceBytes?: number;
  /** Makes the line that says how many were dropped. */
  readonly dropped: (lines: number) => string;
}

/** How long to wait before asking again a pipe that is full. */
const fullPipeMs = 20;
const flushPatienceMs = 500;
/** So many lines that went out already are kept in memory at most. */
const forgetAfterLines = 1_024;

/**
 * A line costs no system call of its own, and a reader that stalls (a full disk, a stopped pager) never stops the event loop:
 * one write at a time is under way in the background, what comes meanwhile waits, in order, up to a bound.
 */
export function bufferedOutput(fd: number, options: BufferedOutputOptions): BufferedOutput {
  const { batchSize = 16_384, flushEveryMs = 100, maxWaiting = 8_388_608, pieceBytes = 65_536, dropped } = options;
  let lines: string[] = [];
  /** Index of the first line that waits. */
  let next = 0;
  /** Characters that wait. */
  let waiting = 0;
  let lost = 0;
  let underWay: Buffer | undefined;
  let underWaySinceMs = 0;
  /** The kernel has it at this moment, as opposed to: it was refused by a full pipe, and is to be offered again. */
  let inKernel = false;
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

  /** Said where the lines are missing: after all that waited, before all that comes. */
  function sayWhatIsLost(): void {
    if (lost === 0) return;
    const line = dropped(lost);
    lines.push(line);
    waiting += line.length;
    lost = 0;
  }

  /** The next piece of what waits. */
  function take(): Buffer {
    let [text, size] = ["", 0];
    for (let line = lines[next]; line !== undefined; line = lines[next]) {
      const bytes = Buffer.byteLength(line);
      if (size > 0 && size + bytes > pieceBytes) break;
      text += line;
      size += bytes;
      next += 1;
    }
    waiting -= text.length;
    if (next === lines.length) {
      lines = [];
      next = 0;
      sayWhatIsLost();
    }
    if (next >= forgetAfterLines) {
      lines = lines.slice(next);
      next = 0;
    }
    return Buffer.from(text);
  }

  function begin(): void {
    if (underWay !== undefined || waiting === 0 || gone) return;
    underWay = take();
    underWaySinceMs = performance.now();
    send();
  }

  function send(): void {
    if (underWay === undefined) return;
    inKernel = true;
    write(fd, underWay, (error, written) => {
      inKernel = false;
      if (underWay === undefined) return;
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") {
        gone = true;
        lines = [];
        underWay = undefined;
        return;
      }
      underWay = underWay.subarray(error === null ? written : 0);
      if (error !== null) setTimeout(send, fullPipeMs).unref();
      else if (underWay.length > 0) send();
      else {
        underWay = undefined;
        if (waiting >= batchSize) begin();
        else if (waiting > 0) later(flushEveryMs);
      }
    });
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (underWay !== undefined) {
      // Nobody reads: a write that waits for the reader would keep the process from ending.
      if (performance.now() - underWaySinceMs > flushPatienceMs) return;
      // A moment is enough for what the kernel has already; what follows must not overtake it.
      if (inKernel) Bun.sleepSync(fullPipeMs);
    }
    let waitedMs = 0;
    let rest = underWay === undefined || inKernel ? take() : underWay;
    underWay = undefined;
    while (rest.length > 0 && !gone && waitedMs < flushPatienceMs) {
      try {
        rest = rest.subarray(writeSync(fd, rest));
        if (rest.length === 0) rest = take();
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
      if (waiting + line.length > maxWaiting) {
        lost += 1;
        return;
      }
      sayWhatIsLost();
      lines.push(line);
      waiting += line.length;
      if (waiting >= batchSize) begin();
      else later(flushEveryMs);
    },
    flush,
  };
}
