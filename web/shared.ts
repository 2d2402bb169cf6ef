import { useSyncExternalStore } from "react";

/** A value that several components show; each renders again when it changes. */
export function shared<T>(initial: T) {
  let value = initial;
  const watchers = new Set<() => void>();
  const watch = (notify: () => void) => {
    watchers.add(notify);
    return () => void watchers.delete(notify);
  };
  const get = (): T => value;
  return {
    get,
    set(next: T): void {
      value = next;
      for (const notify of watchers) notify();
    },
    use: (): T => useSyncExternalStore(watch, get),
  };
}
