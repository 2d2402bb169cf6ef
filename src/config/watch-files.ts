import { type FSWatcher, realpathSync, statSync, watch } from "node:fs";
import { dirname, resolve } from "node:path";

export interface WatchOptions {
  readonly debounceMs: number;
  readonly pollMs: number;
  isNew(fingerprint: string): boolean;
  onChange(): void;
}

/**
 * Watches directories, not files: editors write a new file and rename it over the old one, and Kubernetes replaces a symbolic link
 * beside it; a watch on the file itself would stay with the replaced file. Where a link leads to another directory, that one is
 * watched too. A file is read once its fingerprint is new and has stayed the same for `debounceMs`. While it is absent nothing
 * happens until the next poll, so the moment between remove and rename is no error. `paths` is called each time.
 */
export function watchFiles(paths: () => readonly string[], options: WatchOptions): { close(): void } {
  const watchers = new Map<string, FSWatcher>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = "";
  let polled = "";

  function arm(): void {
    const wanted = new Set(paths().flatMap((path) => [dirname(resolve(path)), ...realDirectory(path)]));
    for (const [directory, watcher] of watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      watchers.delete(directory);
    }
    for (const directory of wanted) {
      if (watchers.has(directory)) continue;
      try {
        const watcher = watch(directory, { persistent: false }, () => look());
        watcher.on("error", () => {
          watcher.close();
          watchers.delete(directory);
        });
        watchers.set(directory, watcher);
      } catch {
        // The directory is absent or cannot be watched: the poll retries.
      }
    }
  }

  function look(): void {
    last = fingerprints(paths());
    clearTimeout(timer);
    if (options.isNew(last)) timer = setTimeout(settle, options.debounceMs);
    timer?.unref();
  }

  function settle(): void {
    const now = fingerprints(paths());
    arm();
    if (now !== last)
      look(); // still being written
    else if (options.isNew(now) && !now.includes(absent)) options.onChange();
  }

  const poll = setInterval(() => {
    arm();
    const now = fingerprints(paths());
    if (options.isNew(now) && now === polled) options.onChange();
    else look();
    polled = now;
  }, options.pollMs);
  poll.unref();
  arm();
  look();

  return {
    close() {
      clearInterval(poll);
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

const absent = "absent";

/** Changes whenever a file is written, replaced or removed, or a link to it changes. */
export function fingerprints(paths: readonly string[]): string {
  return paths
    .map((path) => {
      try {
        const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
        return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
      } catch {
        return absent;
      }
    })
    .join(" ");
}

function realDirectory(path: string): string[] {
  try {
    return [dirname(realpathSync(path))];
  } catch {
    return []; // absent for the moment
  }
}
