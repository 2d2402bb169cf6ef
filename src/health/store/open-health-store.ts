import type { HealthStore } from "./health-store.ts";
import { openPostgresHealthStore } from "./postgres-store.ts";
import { openSqliteHealthStore } from "./sqlite-store.ts";

/**
 * The health store that a database URL names: `sqlite:<path>`, `sqlite::memory:`, `postgres://…`. Brings the schema up to
 * date. Rejects when the URL is none of these, the store cannot be reached, or its schema is newer than this program.
 */
export async function openHealthStore(databaseUrl: string): Promise<HealthStore> {
  if (databaseUrl.startsWith("sqlite:")) return openSqliteHealthStore(databaseUrl.slice("sqlite:".length));
  if (/^postgres(ql)?:\/\//.test(databaseUrl)) return openPostgresHealthStore(databaseUrl);
  throw new Error("DATABASE_URL must begin with sqlite: or postgres://");
}
