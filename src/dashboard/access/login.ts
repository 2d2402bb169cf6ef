/** So many wrong tokens may be tried within a minute: from one address, and from all of them together. */
const maxOfAddress = 10;
const maxTogether = 100;
const windowMs = 60_000;

/** Limits how often a wrong token may be tried, in this process. Times are monotonic milliseconds. */
export class LoginLimit {
  #windowEndMs = 0;
  /** The address of each wrong token of this minute. */
  #failed: string[] = [];

  /** Seconds until this address may try again; 0: now. */
  waitS(address: string, nowMs: number): number {
    if (nowMs >= this.#windowEndMs) this.#failed = [];
    const own = this.#failed.filter((failed) => failed === address).length;
    const isLimited = this.#failed.length >= maxTogether || own >= maxOfAddress;
    return isLimited ? Math.ceil((this.#windowEndMs - nowMs) / 1_000) : 0;
  }

  /** To be called after `waitS`. */
  failed(address: string, nowMs: number): void {
    if (this.#failed.length === 0) this.#windowEndMs = nowMs + windowMs;
    this.#failed.push(address);
  }
}

/** Where to go after the login: a path of the dashboard, whatever the caller wrote. */
export function nextPath(text: string | null): string {
  return text !== null && /^\/dashboard(?:\/[\w\-./~%]*)?(?:\?[\w\-.~%&=/+,:]*)?$/.test(text) && !text.includes("//")
    ? text
    : "/dashboard";
}

/** The name for the audit log: harmless characters, and not many. */
export function operatorName(text: string): string {
  const name = text.replace(/[^\p{L}\p{N} ._@-]/gu, "").trim();
  return name.slice(0, 40) || "dashboard";
}
