import sqlite0001 from "./migrations/sqlite/0001-ledger.sql" with { type: "text" };
import sqlite0002 from "./migrations/sqlite/0002-ledger-rows.sql" with { type: "text" };
import sqlite0003 from "./migrations/sqlite/0003-generation-lookup.sql" with { type: "text" };
import sqlite0010 from "./migrations/sqlite/0010-health.sql" with { type: "text" };
import sqlite0020 from "./migrations/sqlite/0020-price-book.sql" with { type: "text" };
import sqlite0030 from "./migrations/sqlite/0030-routing-memory.sql" with { type: "text" };
import sqlite0031 from "./migrations/sqlite/0031-routing-outcome.sql" with { type: "text" };
import sqlite0040 from "./migrations/sqlite/0040-decision-record.sql" with { type: "text" };
import sqlite0041 from "./migrations/sqlite/0041-decision-record-indexes.sql" with { type: "text" };
import sqlite0042 from "./migrations/sqlite/0042-decision-goal-days.sql" with { type: "text" };
import sqlite0050 from "./migrations/sqlite/0050-operator-action.sql" with { type: "text" };
import sqlite0060 from "./migrations/sqlite/0060-key-usage.sql" with { type: "text" };
import sqlite0075 from "./migrations/sqlite/0075-decision-record-filters.sql" with { type: "text" };
import sqlite0085 from "./migrations/sqlite/0085-decision-block-heads.sql" with { type: "text" };
import sqlite0093 from "./migrations/sqlite/0093-terms-uncompressed.sql" with { type: "text" };
import sqlite0110 from "./migrations/sqlite/0110-ledger-batches.sql" with { type: "text" };
import type { Migration } from "./migrations.ts";

export const sqliteMigrations: readonly Migration[] = [
  { version: 1, name: "ledger", sql: sqlite0001 },
  { version: 2, name: "ledger-rows", sql: sqlite0002 },
  { version: 3, name: "generation-lookup", sql: sqlite0003 },
  { version: 10, name: "health", sql: sqlite0010 },
  { version: 20, name: "price-book", sql: sqlite0020 },
  { version: 30, name: "routing-memory", sql: sqlite0030 },
  { version: 31, name: "routing-outcome", sql: sqlite0031 },
  { version: 40, name: "decision-record", sql: sqlite0040 },
  { version: 41, name: "decision-record-indexes", sql: sqlite0041 },
  { version: 42, name: "decision-goal-days", sql: sqlite0042 },
  { version: 50, name: "operator-action", sql: sqlite0050 },
  { version: 60, name: "key-usage", sql: sqlite0060 },
  { version: 75, name: "decision-record-filters", sql: sqlite0075 },
  { version: 85, name: "decision-block-heads", sql: sqlite0085 },
  { version: 93, name: "terms-uncompressed", sql: sqlite0093 },
  { version: 110, name: "ledger-batches", sql: sqlite0110 },
];
