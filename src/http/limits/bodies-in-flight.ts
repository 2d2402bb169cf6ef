import { largeBodyBytes } from "#platform/event-loop.ts";

/**
 * The request bodies that are being read or answered, in bytes over all requests. Once parsed a body takes several
 * times its size, and it is kept until its answer begins, so this bounds the memory that callers can make the gateway
 * take. Large bodies together may take a quarter: the rest is for requests of usual size. One large body is always
 * admitted.
 */
export class BodiesInFlight {
  readonly #maxBytes: number;
  #bytes = 0;
  #largeBytes = 0;
  /** Bytes that have been announced and are being read in one go. */
  #announcedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Whether a body may be read in one go, which is faster than by what arrives. Announced bodies take no room of
   * others: too many of them are read piece by piece. Who got true calls `arrived`.
   */
  announce(bytes: number): boolean {
    if (this.#announcedBytes + bytes > this.#maxBytes / 4) return false;
    this.#announcedBytes += bytes;
    return true;
  }

  arrived(bytes: number): void {
    this.#announcedBytes -= bytes;
  }

  /** Accounts for a body as one of so many bytes, 0 once it is released; false when there is no room for that. */
  resize(body: HeldBody, bytes: number): boolean {
    const held = body.heldBytes;
    const large = bytes > largeBodyBytes ? bytes : 0;
    if (this.#bytes - held + bytes > this.#maxBytes && this.#bytes > held) return false;
    const otherLarge = this.#largeBytes - (held > largeBodyBytes ? held : 0);
    if (large > 0 && otherLarge > 0 && otherLarge + large > this.#maxBytes / 4) return false;
    this.#bytes += bytes - held;
    this.#largeBytes = otherLarge + large;
    body.heldBytes = bytes;
    return true;
  }
}

/** A request body, and the bytes that are accounted for it. */
export interface HeldBody {
  heldBytes: number;
}
