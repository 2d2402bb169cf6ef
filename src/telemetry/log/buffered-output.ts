import { write, writeSync } from "node:fs";

export interface BufferedOutputOptions {
  /** Lines are written out when this much waits (in characters), or after `flushEveryMs`. */
  readonly batchSize?: number;
  readonly flushEveryMs?: number;
  /** What may wait for a reader that does not read, in characters; lines above that are dropped and counted. */
  readonly maxWaiting?: number;
  /**
   * Largest single write, in bytes, cut between lines. A pipe takes 4,096 in one piece: where several processes share
   * one, no more may be written at once, or their lines get mixed. A line longer than that goes alone.
   */
  readonly pieceBytes?: number;
  /** Makes the line that says how many were dropped; it stands where they are missing. */
  readonly dropped: (lines: number) => string;
}

/** How long to wait before asking again a pipe that is full. */
const fullPipeMs = 20;
const flushTimeoutMs = 500;

/**
 * A line costs no system call of its own, and a reader that stalls (a full disk, a stopped pager) never stops the event
 * loop: one write at a time is under way in the background, what comes meanwhile waits, in order, up to a bound.
 */
export function bufferedOutput(fd: number, options: BufferedOutputOptions) {
  const { batchSize = 32_768, flushEveryMs = 100, maxWaiting = 8_388_608, pieceBytes = 65_536, dropped } = options;
  /** Lines that wait. */
  let text = "";
  /** Lines that were taken from it, to be written next. */
  let encoded = Buffer.alloc(0);
  let droppedLines = 0;
  /** The piece under way; it is in the kernel, or a full pipe has refused it and it waits for the next try. */
  let piece: Buffer | undefined;
  let pieceSinceMs = 0;
  let inKernel = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The descriptor failed for good (the reader has closed it): nothing is written any more. */
  let closed = false;

  function waiting(): number {
    return text.length + encoded.length;
  }

  /** Adds a line; before it, where lines are missing, the one that says how many. */
  function add(line: string): void {
    if (droppedLines > 0) text += dropped(droppedLines);
    droppedLines = 0;
    text += line;
  }

  /** As many lines as fit into a piece, and one at least; undefined when none waits. */
  function takePiece(): Buffer | undefined {
    if (encoded.length === 0) {
      if (text === "") return undefined;
      encoded = Buffer.from(text);
      text = "";
      // What is missing here is said now, though no line may follow.
      add("");
    }
    let end = encoded.length;
    if (end > pieceBytes) end = encoded.lastIndexOf("\n", pieceBytes - 1) + 1 || encoded.indexOf("\n") + 1 || end;
    const taken = encoded.subarray(0, end);
    encoded = encoded.subarray(end);
    return taken;
  }

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    if (piece !== undefined || closed) return;
    piece = takePiece();
    pieceSinceMs = performance.now();
    send();
  }

  function send(): void {
    if (piece === undefined) return;
    inKernel = true;
    write(fd, piece, (error, written) => {
      inKernel = false;
      // `flush` has taken it over.
      if (piece === undefined) return;
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") {
        closed = true;
        text = "";
        encoded = Buffer.alloc(0);
        piece = undefined;
      } else if (error !== null) setTimeout(send, fullPipeMs).unref();
      else {
        piece = written < piece.length ? piece.subarray(written) : undefined;
        if (piece !== undefined) send();
        else if (waiting() >= batchSize) begin();
        else beginLater();
      }
    });
  }

  function beginLater(): void {
    if (timer === undefined && waiting() > 0) timer = setTimeout(begin, flushEveryMs).unref();
  }

  return {
    write(line: string): void {
      if (closed) return;
      if (waiting() + line.length > maxWaiting) {
        droppedLines += 1;
        return;
      }
      add(line);
      if (waiting() >= batchSize) begin();
      else beginLater();
    },
    /** Writes out what waits, now; for the end of the process. Gives up on a reader that does not read. */
    flush(): void {
      clearTimeout(timer);
      // Nobody reads: a write that waits for the reader would keep the process from ending.
      if (piece !== undefined && performance.now() - pieceSinceMs > flushTimeoutMs) return;
      // A moment is enough for what the kernel has already; what follows must not overtake it.
      if (piece !== undefined && inKernel) Bun.sleepSync(fullPipeMs);
      let remaining = piece === undefined || inKernel ? takePiece() : piece;
      piece = undefined;
      let waitedMs = 0;
      while (remaining !== undefined && !closed && waitedMs < flushTimeoutMs) {
        try {
          const written = writeSync(fd, remaining);
          remaining = written < remaining.length ? remaining.subarray(written) : takePiece();
        } catch (error) {
          if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
          Bun.sleepSync(fullPipeMs);
          waitedMs += fullPipeMs;
        }
      }
    },
  };
}
