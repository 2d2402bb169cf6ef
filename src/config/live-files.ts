import { statSync } from "node:fs";
import type { Invalid, Problem } from "./problem.ts";

export type ReloadReport =
  /** With the keys or settings that changed. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

export type Read<T> = { readonly kind: "ok"; readonly value: T } | Invalid;

export interface LiveFilesOptions<T> {
  readonly read: () => Read<T>;
  /** Puts a newly read value to use, and says what of it is new. When it throws, the value is refused. */
  readonly apply: (value: T, before: T) => readonly string[];
  readonly onReload: (report: ReloadReport) => void;
}

/** A withdrawn token is refused within a second, whatever writes the file. */
const maxChangingPolls = 3;

/**
 * What some of the operator's files say, as it is in force now. They are polled, which finds changes on every file
 * system, of files that are written in place, replaced by renaming, or reached through links that change (Kubernetes).
 * What is invalid is refused whole: the last good value stays.
 */
export class LiveFiles<T> {
  readonly #options: LiveFilesOptions<T>;
  readonly #files: readonly string[];
  /** The fingerprints of the files that were read last, and those of the last poll. */
  #seen: string;
  #polled: string;
  /** Polls in a row that found the files changed. */
  #changing = 0;
  value: T;
  /** Why the files are not in force; empty when they are. */
  problems: readonly Problem[] = [];

  /** `value` is what `files` have said at the start. */
  constructor(value: T, files: readonly string[], options: LiveFilesOptions<T>) {
    this.value = value;
    this.#files = files;
    this.#options = options;
    this.#seen = this.#polled = fingerprints(files);
  }

  /**
   * Reads files that have changed since they were read, once they have stayed the same for the time between two polls;
   * those that are written again and again after some polls.
   */
  poll(): void {
    const now = fingerprints(this.#files);
    this.#changing = now === this.#seen ? 0 : this.#changing + 1;
    if (this.#changing > 0 && (now === this.#polled || this.#changing >= maxChangingPolls)) this.reload();
    this.#polled = now;
  }

  reload(): ReloadReport {
    this.#changing = 0;
    // Before the files are read: a later change is seen as one.
    this.#seen = fingerprints(this.#files);
    const report = this.#report(this.#options.read());
    this.problems = report.kind === "refused" ? report.problems : [];
    this.#options.onReload(report);
    return report;
  }

  #report(read: Read<T>): ReloadReport {
    if (read.kind === "invalid") return { kind: "refused", problems: read.problems };
    try {
      const changed = this.#options.apply(read.value, this.value);
      this.value = read.value;
      return changed.length === 0 ? { kind: "unchanged" } : { kind: "reloaded", changed };
    } catch (error) {
      const message = `cannot be put to use: ${error instanceof Error ? error.message : "unknown error"}`;
      return { kind: "refused", problems: [{ file: this.#files.join(", "), path: "", message }] };
    }
  }
}

/** Changes whenever a file is written, replaced or removed, or a link to it changes. */
function fingerprints(paths: readonly string[]): string {
  return paths
    .map((path) => {
      try {
        const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
        return `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
      } catch {
        return "absent";
      }
    })
    .join(" ");
}
