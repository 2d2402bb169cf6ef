import { openStoreDatabase } from "#db/store-database.ts";
import type { UtcDay } from "#platform/time.ts";

/** What the aggregator said was spent with one key on one UTC day. */
export interface KeyUsageReading {
  /** The aggregator's base URL. */
  readonly source: string;
  readonly day: UtcDay;
  /** The beginning of the key's SHA-256 digest: keys themselves are never stored. */
  readonly keyDigest: string;
  /** In nano-USD. */
  readonly spent: number;
  readonly readMs: number;
}

/** The aggregator's own count of each day, which it tells only on that day. */
export type KeyUsageStore = Awaited<ReturnType<typeof openKeyUsageStore>>;

/** A day is kept for so long. */
const keptMs = 400 * 86_400_000;

/** The store of the aggregator's counts in a database. Rejects when the database cannot be reached. */
export async function openKeyUsageStore(databaseUrl: string) {
  const database = await openStoreDatabase(databaseUrl);
  return {
    /** Replaces an older reading of the same key and day, and forgets days long gone. */
    async save(reading: KeyUsageReading): Promise<void> {
      const { source, day, keyDigest, spent, readMs } = reading;
      const firstKeptDay = new Date(Math.max(0, readMs - keptMs)).toISOString().slice(0, 10);
      await database.write(
        [
          `INSERT INTO key_usage (source, day, key_digest, spent, read_ms) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (source, day, key_digest) DO UPDATE SET spent = excluded.spent, read_ms = excluded.read_ms
           WHERE key_usage.read_ms <= excluded.read_ms`,
          source,
          day,
          keyDigest,
          spent,
          Math.round(readMs),
        ],
        ["DELETE FROM key_usage WHERE source = ? AND day < ?", source, firstKeptDay],
      );
    },
    /** All keys of a day together, `readMs` of the oldest reading; undefined when nothing was read on that day. */
    async load(source: string, day: UtcDay) {
      const [[row] = []] = await database.read([
        "SELECT sum(spent) AS spent, min(read_ms) AS read_ms, count(*) AS keys FROM key_usage WHERE source = ? AND day = ?",
        source,
        day,
      ]);
      const keys = Number(row?.["keys"] ?? 0);
      return keys === 0 ? undefined : { spent: Number(row?.["spent"]), readMs: Number(row?.["read_ms"]), keys };
    },
    close: (): Promise<void> => database.close(),
  };
}

export function keyDigestOf(apiKey: string): string {
  return new Bun.CryptoHasher("sha256").update(apiKey).digest("hex").slice(0, 12);
}
