/**
 * Gets one value of a source, in the very event of a socket that brings it: a promise for each event of a stream would
 * cost as much as the event itself. Must not throw; may read again at once.
 */
export interface Receiver<T> {
  onValue(value: T): void;
  /** There are no more. */
  onEnd(): void;
  onError(error: unknown): void;
}

/** What is read one value after the other. Reads must not overlap. */
export interface Source<T> {
  /** Calls one method of the receiver, once, which may be before it returns. */
  read(receiver: Receiver<T>): void;
}

/** The next value of a source; undefined after the last. */
export function nextOf<T>(source: Source<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    source.read({ onValue: resolve, onEnd: () => resolve(undefined), onError: reject });
  });
}
