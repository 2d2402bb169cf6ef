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
const flushTimeoutMs = 500;
/** UTF-8 takes no more for a UTF-16 code unit. */
const maxBytesPerCharacter = 3;
/** At most so many written lines stay in memory. */
const forgetAfterLines = 1_024;

/**
 * A line costs no system call of its own, and a reader that stalls (a full disk, a stopped pager) never stops the event loop:
 * one write at a time is under way in the background, what comes meanwhile waits, in order, up to a bound.
 */
export function bufferedOutput(fd: number, options: BufferedOutputOptions): BufferedOutput {
  const output = new DescriptorOutput(fd, options);
  // Not the methods themselves: callers hand `flush` on as a function.
  return { write: (line) => output.write(line), flush: () => output.flush() };
}

/** Lines that wait to be written, in order, up to a bound; lines above it are counted instead. */
class LineQueue {
  readonly #maxWaiting: number;
  readonly #pieceBytes: number;
  readonly #dropped: (lines: number) => string;
  #lines: string[] = [];
  /** Index of the first line that waits. */
  #next = 0;
  #droppedLines = 0;
  /** Characters that wait. */
  #waiting = 0;

  constructor({ maxWaiting = 8_388_608, pieceBytes = 65_536, dropped }: BufferedOutputOptions) {
    this.#maxWaiting = maxWaiting;
    this.#pieceBytes = pieceBytes;
    this.#dropped = dropped;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Whether there was room for the line. */
  add(line: string): boolean {
    if (this.#waiting + line.length > this.#maxWaiting) {
      this.#droppedLines += 1;
      return false;
    }
    this.#addDroppedCount();
    this.#lines.push(line);
    this.#waiting += line.length;
    return true;
  }

  /** Removes and returns the next piece; empty when nothing waits. */
  take(): Buffer {
    const text = this.#waiting * maxBytesPerCharacter <= this.#pieceBytes ? this.#takeAll() : this.#takePiece();
    this.#waiting -= text.length;
    if (this.#next === this.#lines.length) {
      this.clear();
      this.#addDroppedCount();
    }
    if (this.#next >= forgetAfterLines) {
      this.#lines = this.#lines.slice(this.#next);
      this.#next = 0;
    }
    return Buffer.from(text);
  }

  #takeAll(): string {
    const lines = this.#next === 0 ? this.#lines : this.#lines.slice(this.#next);
    this.#next = this.#lines.length;
    return lines.join("");
  }

  /** As many lines as fit, and one at least. */
  #takePiece(): string {
    let [text, size] = ["", 0];
    for (let line = this.#lines[this.#next]; line !== undefined; line = this.#lines[this.#next]) {
      const bytes = Buffer.byteLength(line);
      if (size > 0 && size + bytes > this.#pieceBytes) break;
      text += line;
      size += bytes;
      this.#next += 1;
    }
    return text;
  }

  clear(): void {
    this.#lines = [];
    this.#next = 0;
  }

  /** The count goes where the lines are missing: after all that waited, before all that follows. */
  #addDroppedCount(): void {
    if (this.#droppedLines === 0) return;
    const line = this.#dropped(this.#droppedLines);
    this.#lines.push(line);
    this.#waiting += line.length;
    this.#droppedLines = 0;
  }
}

class DescriptorOutput implements BufferedOutput {
  readonly #fd: number;
  readonly #batchSize: number;
  readonly #flushEveryMs: number;
  readonly #queue: LineQueue;
  #underWay: Buffer | undefined;
  #underWaySinceMs = 0;
  /** The kernel has the piece at this moment; false while a full pipe has refused it and it waits for the next try. */
  #inKernel = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The descriptor failed for good (the reader has closed it): nothing is written any more. */
  #closed = false;

  constructor(fd: number, options: BufferedOutputOptions) {
    const { batchSize = 16_384, flushEveryMs = 100 } = options;
    this.#fd = fd;
    this.#batchSize = batchSize;
    this.#flushEveryMs = flushEveryMs;
    this.#queue = new LineQueue(options);
  }

  write(line: string): void {
    if (this.#closed || !this.#queue.add(line)) return;
    if (this.#queue.waiting >= this.#batchSize) this.#begin();
    else this.#beginLater();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#underWay !== undefined) {
      // Nobody reads: a write that waits for the reader would keep the process from ending.
      if (performance.now() - this.#underWaySinceMs > flushTimeoutMs) return;
      // A moment is enough for what the kernel has already; what follows must not overtake it.
      if (this.#inKernel) Bun.sleepSync(fullPipeMs);
    }
    let waitedMs = 0;
    let rest = this.#underWay === undefined || this.#inKernel ? this.#queue.take() : this.#underWay;
    this.#underWay = undefined;
    while (rest.length > 0 && !this.#closed && waitedMs < flushTimeoutMs) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
        if (rest.length === 0) rest = this.#queue.take();
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
        Bun.sleepSync(fullPipeMs);
        waitedMs += fullPipeMs;
      }
    }
  }

  #beginLater(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#begin();
    }, this.#flushEveryMs);
    this.#timer.unref();
  }

  #begin(): void {
    if (this.#underWay !== undefined || this.#queue.waiting === 0 || this.#closed) return;
    this.#underWay = this.#queue.take();
    this.#underWaySinceMs = performance.now();
    this.#send();
  }

  #send(): void {
    if (this.#underWay === undefined) return;
    this.#inKernel = true;
    write(this.#fd, this.#underWay, (error, written) => {
      this.#inKernel = false;
      if (this.#underWay === undefined) return;
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") {
        this.#closed = true;
        this.#queue.clear();
        this.#underWay = undefined;
        return;
      }
      this.#underWay = this.#underWay.subarray(error === null ? written : 0);
      if (error !== null) setTimeout(() => this.#send(), fullPipeMs).unref();
      else if (this.#underWay.length > 0) this.#send();
      else {
        this.#underWay = undefined;
        if (this.#queue.waiting >= this.#batchSize) this.#begin();
        else if (this.#queue.waiting > 0) this.#beginLater();
      }
    });
  }
}
