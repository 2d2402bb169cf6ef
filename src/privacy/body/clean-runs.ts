/** Knows runs of messages in which there was nothing to redact, by their bytes. */
export interface CleanRuns {
  isClean(run: Uint8Array): boolean;
  rememberClean(run: Uint8Array): void;
}
