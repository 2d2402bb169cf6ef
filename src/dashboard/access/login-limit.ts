/** Wrong tokens that one address may send at once, and how long until it may send another. */
const perAddress = { burst: 10, everyMs: 6_000 };
/** The same for all addresses together: somebody who has many of them gains nothing. */
const together = { burst: 100, everyMs: 1_000 };
/** Addresses that are remembered; beyond them the ones that have been silent longest are forgotten. */
const maxAddresses = 1_000;

interface Allowance {
  readonly burst: number;
  readonly everyMs: number;
}

/** Limits how often a wrong token may be tried, in this process. Times are monotonic milliseconds. */
export class LoginLimit {
  readonly #addresses = new Map<string, Bucket>();
  readonly #all = new Bucket(together);

  /** Seconds until this address may try again; 0: now. */
  waitS(address: string, nowMs: number): number {
    const waitMs = Math.max(this.#all.waitMs(nowMs), this.#addresses.get(address)?.waitMs(nowMs) ?? 0);
    return Math.ceil(waitMs / 1_000);
  }

  failed(address: string, nowMs: number): void {
    const bucket = this.#addresses.get(address) ?? new Bucket(perAddress);
    this.#addresses.delete(address);
    this.#addresses.set(address, bucket);
    bucket.take(nowMs);
    this.#all.take(nowMs);
    if (this.#addresses.size > maxAddresses) {
      const [oldest] = this.#addresses.keys();
      if (oldest !== undefined) this.#addresses.delete(oldest);
    }
  }
}

/** A token bucket, full at first. */
class Bucket {
  readonly #allowance: Allowance;
  #left: number;
  #sinceMs = 0;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
    this.#left = allowance.burst;
  }

  waitMs(nowMs: number): number {
    const left = this.#leftAt(nowMs);
    return left >= 1 ? 0 : (1 - left) * this.#allowance.everyMs;
  }

  take(nowMs: number): void {
    this.#left = Math.max(0, this.#leftAt(nowMs) - 1);
    this.#sinceMs = nowMs;
  }

  #leftAt(nowMs: number): number {
    const { burst, everyMs } = this.#allowance;
    return Math.min(burst, this.#left + (nowMs - this.#sinceMs) / everyMs);
  }
}
