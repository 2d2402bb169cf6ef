import { tagOfText } from "#platform/keyed-memory/process-tags.ts";
import { type TextTag, TextTags } from "#platform/keyed-memory/text-tags.ts";
import { TwoGenerations } from "#platform/keyed-memory/two-generations.ts";
import { type FoundMessage, nothingFound, type ScannedRuns } from "#privacy/body/scanned-runs.ts";
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
  /** Of the bytes of runs and members. */
  readonly #tags = new TextTags();
  /** Of the bytes of messages: a run of one message has the same bytes. */
  readonly #messageTags = new TextTags();
  readonly #spans: TwoGenerations<readonly Span[]>;
  readonly #minLength: number;
  /**
   * The messages of known runs in which something was found, and known members in which nothing was: kept as long as somebody else knows
   * the run or the member.
   */
  readonly #foundIn = new WeakMap<object, readonly FoundMessage[]>();
  /** The same for known beginnings of conversations. */
  readonly #foundInBeginnings = new WeakMap<object, readonly FoundMessage[]>();

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

  /**
   * Runs of messages as they are known; `limit` as for `scanWithin`. A run is only remembered where no text was left out, and by its
   * bytes only where nothing was found in it and it is no tail.
   */
  runs(limit: WorkLimit = noLimit): ScannedRuns {
    // A run that is not known is scanned and remembered next: its tag is made once.
    const tags = new WeakMap<Uint8Array, TextTag>();
    return {
      foundIn: ({ bytes, known, isTail }) => {
        if (this.#minLength > bytes.length || !limit.take(scanOverhead + (bytes.length >> 6))) return undefined;
        const found = known === undefined ? undefined : this.#foundIn.get(known);
        if (found !== undefined) this.#counts.hits += 1;
        if (found !== undefined || isTail === true) return found;
        const tag = this.#tags.ofBytes(bytes);
        if (this.#recall(tag) === undefined) {
          tags.set(bytes, tag);
          return undefined;
        }
        if (known !== undefined) this.#foundIn.set(known, nothingFound);
        return nothingFound;
      },
      remember: ({ bytes, known, isTail }, found) => {
        if (this.#minLength > bytes.length || limit.isExceeded) return;
        if (known !== undefined) this.#foundIn.set(known, found.length === 0 ? nothingFound : found);
        if (found.length === 0 && isTail !== true)
          this.#spans.set(tags.get(bytes) ?? this.#tags.ofBytes(bytes), noSpans);
      },
      foundInBeginning: (identity, length) => {
        if (this.#minLength > length || !limit.take(scanOverhead + (length >> 6))) return undefined;
        const found = this.#foundInBeginnings.get(identity);
        if (found !== undefined) this.#counts.hits += 1;
        return found;
      },
      rememberBeginning: (identity, length, found) => {
        if (this.#minLength > length || limit.isExceeded) return;
        this.#foundInBeginnings.set(identity, found);
      },
      placesIn: (tag) => (limit.take(scanOverhead) ? this.#recall(tag) : undefined),
      rememberPlaces: (message, places) => {
        if (limit.isExceeded) return undefined;
        const tag = this.#messageTags.ofBytes(message);
        this.#spans.set(tag, places);
        return tag;
      },
    };
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
