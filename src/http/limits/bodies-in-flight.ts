import { largeBodyBytes } from "#platform/event-loop.ts";

/**
 * The request bodies that are being read or answered, in bytes over all requests. Once parsed a body takes several times its
 * size, and it is kept until its answer begins, so this bounds the memory that callers can make the gateway take. Large bodies
 * together may take a quarter: the rest is for requests of usual size. One large body is always admitted.
 */
export class BodiesInFlight {
  readonly #maxBytes: number;
  #bytes = 0;
  #largeBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Accounts for a body of that many bytes; undefined when there is no room. */
  hold(bytes: number): HeldBytes | undefined {
    const held = new HeldBytes(this);
    return held.growTo(bytes) ? held : undefined;
  }

  /** Accounts for a body that was so long as one of another length; false when there is no room. */
  change(held: number, wanted: number): boolean {
    const large = wanted > largeBodyBytes ? wanted : 0;
    if (this.#bytes - held + wanted > this.#maxBytes && this.#bytes > held) return false;
    const otherLarge = this.#largeBytes - (held > largeBodyBytes ? held : 0);
    if (large > 0 && otherLarge > 0 && otherLarge + large > this.#maxBytes / 4) return false;
    this.#bytes += wanted - held;
    this.#largeBytes = otherLarge + large;
    return true;
  }
}

/** Bytes of one request body that are accounted for until `release`. */
export class HeldBytes {
  readonly #all: BodiesInFlight;
  #bytes = 0;

  constructor(all: BodiesInFlight) {
    this.#all = all;
  }

  /** The body turns out to be this long; false when there is no room for that. */
  growTo(bytes: number): boolean {
    if (!this.#all.change(this.#bytes, bytes)) return false;
    this.#bytes = bytes;
    return true;
  }

  /** Calling it again does nothing. */
  release(): void {
    this.growTo(0);
  }
}
