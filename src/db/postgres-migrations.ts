import postgres0001 from "./migrations/postgres/0001-ledger.sql" with { type: "text" };
import postgres0002 from "./migrations/postgres/0002-ledger-rows.sql" with { type: "text" };
import postgres0003 from "./migrations/postgres/0003-generation-lookup.sql" with { type: "text" };
import postgres0010 from "./migrations/postgres/0010-health.sql" with { type: "text" };
import postgres0020 from "./migrations/postgres/0020-price-book.sql" with { type: "text" };
import postgres0030 from "./migrations/postgres/0030-routing-memory.sql" with { type: "text" };
import postgres0031 from "./migrations/postgres/0031-routing-outcome.sql" with { type: "text" };
import postgres0040 from "./migrations/postgres/0040-decision-record.sql" with { type: "text" };
import postgres0041 from "./migrations/postgres/0041-decision-record-indexes.sql" with { type: "text" };
import postgres0042 from "./migrations/postgres/0042-decision-goal-days.sql" with { type: "text" };
import postgres0050 from "./migrations/postgres/0050-operator-action.sql" with { type: "text" };
import postgres0060 from "./migrations/postgres/0060-key-usage.sql" with { type: "text" };
import postgres0075 from "./migrations/postgres/0075-decision-record-filters.sql" with { type: "text" };
import postgres0085 from "./migrations/postgres/0085-decision-block-heads.sql" with { type: "text" };
import postgres0093 from "./migrations/postgres/0093-terms-uncompressed.sql" with { type: "text" };
import postgres0110 from "./migrations/postgres/0110-ledger-batches.sql" with { type: "text" };
import type { Migration } from "./migrations.ts";

export const postgresMigrations: readonly Migration[] = [
  { version: 1, name: "ledger", sql: postgres0001 },
  { version: 2, name: "ledger-rows", sql: postgres0002 },
  { version: 3, name: "generation-lookup", sql: postgres0003 },
  { version: 10, name: "health", sql: postgres0010 },
  { version: 20, name: "price-book", sql: postgres0020 },
  { version: 30, name: "routing-memory", sql: postgres0030 },
  { version: 31, name: "routing-outcome", sql: postgres0031 },
  { version: 40, name: "decision-record", sql: postgres0040 },
  { version: 41, name: "decision-record-indexes", sql: postgres0041 },
  { version: 42, name: "decision-goal-days", sql: postgres0042 },
  { version: 50, name: "operator-action", sql: postgres0050 },
  { version: 60, name: "key-usage", sql: postgres0060 },
  { version: 75, name: "decision-record-filters", sql: postgres0075 },
  { version: 85, name: "decision-block-heads", sql: postgres0085 },
  { version: 93, name: "terms-uncompressed", sql: postgres0093 },
  { version: 110, name: "ledger-batches", sql: postgres0110 },
];
