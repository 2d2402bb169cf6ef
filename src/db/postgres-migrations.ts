import ledger from "./migrations/postgres/0001-ledger.sql" with { type: "text" };
import health from "./migrations/postgres/0010-health.sql" with { type: "text" };
import release from "./migrations/postgres/0200-release-1-1.sql" with { type: "text" };
import { migrationsOf } from "./migrations.ts";

export const postgresMigrations = migrationsOf({ 1: ledger, 10: health, 200: release });
