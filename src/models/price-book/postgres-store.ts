import { migratePostgres, PostgresConnection, roundedLiteral, textLiteral } from "#db/postgres.ts";
import type { BookEntry } from "./price-book.ts";
import { entriesKeptMs, entryText, type PriceBookStore, readEntry } from "./price-book-store.ts";

/** Milliseconds. The price book can wait for the next day, so a message without an answer by then counts as lost. */
const answerLimitMs = 3_000;
const limits = { lockMs: 500, statementMs: 2_000 };

/** The price book in PostgreSQL, over a connection of its own, for all nodes. Rejects when the database cannot be reached. */
export async function openPostgresPriceBook(url: string): Promise<PriceBookStore> {
  await migratePostgres(url);
  return postgresPriceBook(new PostgresConnection(url, answerLimitMs));
}

/** The same over a connection, which it closes with itself. */
export function postgresPriceBook(connection: PostgresConnection): PriceBookStore {
  return {
    async load(source) {
      const [rows = []] = await connection.run(
        `SELECT upstream_id, entry, read_ms FROM price_book WHERE source = ${textLiteral(source)}`,
      );
      const entries = rows.map((row) => {
        return [String(row["upstream_id"]), readEntry(String(row["entry"]), Number(row["read_ms"]))] as const;
      });
      return new Map(entries.filter((pair): pair is readonly [string, BookEntry] => pair[1] !== undefined));
    },
    async save(source, book) {
      if (book.size === 0) return;
      const from = textLiteral(source);
      // In one order everywhere, so that two nodes never wait for each other.
      const sorted = [...book].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const rows = sorted.map(
        ([id, entry]) =>
          `(${from}, ${textLiteral(id)}, ${textLiteral(entryText(entry))}, ${roundedLiteral(entry.atMs)})`,
      );
      const newest = Math.max(...sorted.map(([, { atMs }]) => atMs));
      await connection.transact(limits, [
        `INSERT INTO price_book (source, upstream_id, entry, read_ms) VALUES ${rows.join(", ")}
         ON CONFLICT (source, upstream_id) DO UPDATE SET entry = excluded.entry, read_ms = excluded.read_ms
         WHERE price_book.read_ms <= excluded.read_ms`,
        `DELETE FROM price_book WHERE source = ${from} AND read_ms < ${roundedLiteral(newest - entriesKeptMs)}`,
      ]);
    },
    async close() {
      await connection.close();
    },
  };
}
