import ledger from "./migrations/sqlite/0001-ledger.sql" with { type: "text" };
import health from "./migrations/sqlite/0010-health.sql" with { type: "text" };
import release from "./migrations/sqlite/0200-release-1-1.sql" with { type: "text" };
import { migrationsOf } from "./migrations.ts";

export const sqliteMigrations = migrationsOf({ 1: ledger, 10: health, 200: release });
