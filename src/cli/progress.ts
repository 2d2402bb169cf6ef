/** Shows how far a long command has come. */
export interface Progress {
  /** So many of the whole are done. */
  at(done: number): void;
  /** Removes the bar. */
  end(): void;
}

export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const barWidth = 24;
/** A bar that is redrawn more often than this costs more than it shows. */
const redrawMs = 80;

/** A bar on standard error, so that standard output stays what was asked for; nothing where that is no terminal. */
export function progressBar(
  label: string,
  total: number,
  output: ProgressOutput = process.stderr,
  now: () => number = Date.now,
): Progress {
  if (output.isTTY !== true || total <= 0) return { at: () => undefined, end: () => undefined };
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    at(done) {
      if (now() - drawnMs < redrawMs && done < total) return;
      drawnMs = now();
      const share = Math.min(1, Math.max(0, done / total));
      const filled = Math.round(share * barWidth);
      const bar = "█".repeat(filled) + "░".repeat(barWidth - filled);
      const line = `${label} ${bar} ${Math.floor(share * 100)} %`;
      // A terminal that does not say how wide it is says 0.
      output.write(`\r\u001b[2K${line.slice(0, Math.max(1, (output.columns || 80) - 1))}`);
    },
    end() {
      output.write("\r\u001b[2K");
    },
  };
}
