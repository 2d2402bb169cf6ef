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
import postgres0120 from "./migrations/postgres/0120-fewer-indexes.sql" with { type: "text" };
import postgres0130 from "./migrations/postgres/0130-late-costs.sql" with { type: "text" };
import { migrationsOf } from "./migrations.ts";

export const postgresMigrations = migrationsOf({
  1: postgres0001,
  2: postgres0002,
  3: postgres0003,
  10: postgres0010,
  20: postgres0020,
  30: postgres0030,
  31: postgres0031,
  40: postgres0040,
  41: postgres0041,
  42: postgres0042,
  50: postgres0050,
  60: postgres0060,
  75: postgres0075,
  85: postgres0085,
  93: postgres0093,
  110: postgres0110,
  120: postgres0120,
  130: postgres0130,
});
