import { tagOfText } from "#platform/keyed-memory/process-tags.ts";
import type { TextTag } from "#platform/keyed-memory/text-tags.ts";
import { TwoGenerations } from "#platform/keyed-memory/two-generations.ts";
import type { ScanCounts } from "#privacy/redaction.ts";
import { scanInSlices, sliceLength } from "#privacy/text/scan-in-slices.ts";
import type { Scan, Span } from "#privacy/text/spans.ts";

/** A shorter text is scanned in less time than its tag takes. */
const minLength = 256;
const bytesPerSpan = 96;

/**
 * Remembers what scans have found: agents send their whole history with every turn. Kept are positions and rules under a
 * keyed tag of the text (`tagOfText`), never text. A memory belongs to one scan of one policy.
 */
export class ScanMemory {
  readonly #scan: Scan;
  readonly #counts: ScanCounts;
  readonly #spans: TwoGenerations<readonly Span[]>;
  readonly #minLength: number;

  /** @param maxBytes of memory; 0: nothing is remembered */
  constructor(scan: Scan, maxBytes: number, counts: ScanCounts) {
    this.#scan = scan;
    this.#counts = counts;
    this.#spans = new TwoGenerations(maxBytes, ({ length }) => length * bytesPerSpan);
    this.#minLength = maxBytes === 0 ? Number.POSITIVE_INFINITY : minLength;
  }

  /** Estimate of the memory that it takes. */
  get bytes(): number {
    return this.#spans.bytes;
  }

  /** The secrets in a text. */
  readonly scan: Scan = (text) => this.scanWithin(text, noLimit);

  /** The same as far as the limit goes: a text beyond it is only looked up. */
  scanWithin(text: string, limit: WorkLimit): readonly Span[] {
    // A text longer than a slice is only remembered by `scanInTurns`, which reads it in another way.
    const tag =
      text.length < this.#minLength || text.length > sliceLength || limit.isExceeded ? undefined : tagOfText(text);
    const known = tag === undefined ? undefined : this.#recall(tag);
    if (known !== undefined) {
      limit.take(costOfKnown(text));
      return known;
    }
    if (!limit.take(text.length + scanOverhead)) return noSpans;
    const spans = this.#scan(text);
    if (tag !== undefined) this.#remember(tag, spans);
    return spans;
  }

  /** As `scanInSlices` does it. */
  async scanInTurns(text: string, turn: (length: number) => Promise<void>): Promise<readonly Span[]> {
    if (text.length < this.#minLength) return scanInSlices(text, this.#scan, turn);
    const tag = tagOfText(text);
    const known = this.#recall(tag);
    if (known !== undefined) {
      await turn(costOfKnown(text));
      return known;
    }
    const spans = await scanInSlices(text, this.#scan, turn);
    this.#remember(tag, spans);
    return spans;
  }

  #recall(tag: TextTag): readonly Span[] | undefined {
    const known = this.#spans.get(tag);
    if (known !== undefined) this.#counts.hits += 1;
    return known;
  }

  #remember(tag: TextTag, spans: readonly Span[]): void {
    this.#counts.misses += 1;
    this.#spans.set(tag, spans);
  }
}

/** How much work may be done at once, in characters to scan. */
export class WorkLimit {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** Whether more was asked for than there was. */
  get isExceeded(): boolean {
    return this.#left < 0;
  }

  /** Whether so much more may be done; where not, nothing more may. */
  take(work: number): boolean {
    if (this.#left >= 0) this.#left -= work;
    return this.#left >= 0;
  }

  /** A scan of names as far as the limit goes; finds nothing beyond. */
  scan(scan: Scan): Scan {
    return (name) => (this.take(name.length + scanOverhead) ? scan(name) : noSpans);
  }
}

const noLimit = new WorkLimit(Number.POSITIVE_INFINITY);

/** What a scan costs beside its text, in characters that could be scanned in the same time. */
export const scanOverhead = 64;

/** What it costs to know a text, in the same unit. */
function costOfKnown({ length }: string): number {
  return scanOverhead + (length >> 6);
}

const noSpans: readonly Span[] = [];
