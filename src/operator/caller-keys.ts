import { type AuthKeys, callerKey } from "#config/auth-keys.ts";
import { openStoreDatabase } from "#db/store-database.ts";
import type { CallerKey } from "#domain/chat.ts";
import { BackgroundJob } from "#platform/background-job.ts";
import type { Timers } from "#platform/time.ts";

/** A caller's key as `keys add` stores it: never the token itself. */
export interface StoredKey {
  /** SHA-256 of the token, in lower-case hex. */
  readonly digest: string;
  readonly key: CallerKey;
  readonly createdMs: number;
  readonly createdBy: string;
  /** Null while it is accepted. */
  readonly revokedMs: number | null;
}

/** The keys of the database and of `AUTH_KEYS_FILE` that no operator has revoked. */
export function notRevoked(stored: readonly StoredKey[], ofFile: AuthKeys | undefined): (CallerKey | null)[] {
  const accepted = stored.filter(({ revokedMs }) => revokedMs === null).map(({ key }) => key);
  return [...accepted, ...(ofFile?.values() ?? [])];
}

/** The end of its last day has passed. */
export function isExpired(key: CallerKey | null, nowMs: number): boolean {
  return (key?.expiresMs ?? Number.POSITIVE_INFINITY) <= nowMs;
}

type CallerKeyStore = Awaited<ReturnType<typeof openCallerKeys>>;

/** The callers' keys in the database that a URL names. Rejects when it cannot be reached. */
export async function openCallerKeys(databaseUrl: string) {
  const database = await openStoreDatabase(databaseUrl);
  const columns = "digest, label, day_hard, rpm, expires_ms, created_ms, created_by, revoked_ms";
  return {
    /** All of them, also those that were revoked, the oldest first. */
    async list(): Promise<readonly StoredKey[]> {
      const [rows = []] = await database.read([`SELECT ${columns} FROM caller_key ORDER BY created_ms, digest`]);
      const whole = (value: unknown) => (value == null ? undefined : Number(value));
      return rows.map((row) => ({
        digest: String(row["digest"]),
        key: callerKey(String(row["label"]), {
          dayHard: whole(row["day_hard"]),
          rpm: whole(row["rpm"]),
          expiresMs: whole(row["expires_ms"]),
        }),
        createdMs: Number(row["created_ms"]),
        createdBy: String(row["created_by"]),
        revokedMs: whole(row["revoked_ms"]) ?? null,
      }));
    },
    async add({ digest, key, createdMs, createdBy }: Omit<StoredKey, "revokedMs">): Promise<void> {
      const { label, dayHard = null, rpm = null, expiresMs = null } = key;
      const values = [digest, label, dayHard, rpm, expiresMs, createdMs, createdBy, null];
      await database.write([`INSERT INTO caller_key (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ...values]);
    },
    /** Revokes all keys of a label; answers how many were accepted until now. */
    async revoke(label: string, atMs: number): Promise<number> {
      const sql = "UPDATE caller_key SET revoked_ms = ? WHERE label = ? AND revoked_ms IS NULL RETURNING digest";
      const [rows = []] = await database.write([sql, atMs, label]);
      return rows.length;
    },
    close: () => database.close(),
  };
}

/** A change is in force everywhere within a second. */
const pollMs = 500;

/**
 * The keys that callers may use: those of `AUTH_KEYS_FILE` and of the database, which is polled. While it does not
 * answer, those that were read last stand. Without a file, and before a first key was ever added, every long-enough
 * token is accepted. Rejects when they cannot be read at first: who may come in would not be known.
 */
export async function pollAcceptedKeys(ofFile: () => AuthKeys | undefined, store: CallerKeyStore, timers: Timers) {
  let stored: AuthKeys | undefined;
  let merged: { readonly file: AuthKeys; readonly stored: AuthKeys; readonly keys: AuthKeys } | undefined;
  const read = async (): Promise<void> => {
    const listed = await store.list();
    const accepted = listed.filter(({ revokedMs }) => revokedMs === null);
    const next = listed.length === 0 ? undefined : new Map(accepted.map(({ digest, key }) => [digest, key]));
    if (!Bun.deepEquals(next, stored)) stored = next;
  };
  await read();
  const job = new BackgroundJob({ run: read, pauseMs: () => pollMs, timers });
  job.schedule();
  return {
    current(): AuthKeys | undefined {
      const file = ofFile();
      if (file === undefined || stored === undefined) return file ?? stored;
      if (merged?.file !== file || merged.stored !== stored) {
        merged = { file, stored, keys: new Map([...stored, ...file]) };
      }
      return merged.keys;
    },
    close: () => job.close(),
  };
}
