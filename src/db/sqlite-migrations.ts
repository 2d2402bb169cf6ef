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
import sqlite0120 from "./migrations/sqlite/0120-fewer-indexes.sql" with { type: "text" };
import sqlite0130 from "./migrations/sqlite/0130-late-costs.sql" with { type: "text" };
import { migrationsOf } from "./migrations.ts";

export const sqliteMigrations = migrationsOf({
  1: sqlite0001,
  2: sqlite0002,
  3: sqlite0003,
  10: sqlite0010,
  20: sqlite0020,
  30: sqlite0030,
  31: sqlite0031,
  40: sqlite0040,
  41: sqlite0041,
  42: sqlite0042,
  50: sqlite0050,
  60: sqlite0060,
  75: sqlite0075,
  85: sqlite0085,
  93: sqlite0093,
  110: sqlite0110,
  120: sqlite0120,
  130: sqlite0130,
});
