import type { Database } from "bun:sqlite";
import { openSqlite } from "#db/sqlite.ts";
import type { BookEntry } from "./price-book.ts";
import { entriesKeptMs, entryText, type PriceBookStore, readEntry } from "./price-book-store.ts";

/** The price book in the gateway's SQLite file, over a connection of its own; written a few times a day. */
export function openSqlitePriceBook(path: string): PriceBookStore {
  const db = openSqlite(path);
  // Short, because the event loop waits with it; the next list is written anyway.
  db.run("PRAGMA busy_timeout = 100");
  return sqlitePriceBook(db);
}

/** The same over an open connection, which it closes with itself. */
export function sqlitePriceBook(db: Database): PriceBookStore {
  return {
    async load(source) {
      const rows = db
        .query<{ upstream_id: string; entry: string; read_ms: number }, [string]>(
          "SELECT upstream_id, entry, read_ms FROM price_book WHERE source = ?",
        )
        .all(source);
      const entries = rows.map(({ upstream_id, entry, read_ms }) => [upstream_id, readEntry(entry, read_ms)] as const);
      return new Map(entries.filter((pair): pair is readonly [string, BookEntry] => pair[1] !== undefined));
    },
    async save(source, book) {
      const upsert = db.query(
        `INSERT INTO price_book (source, upstream_id, entry, read_ms) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (source, upstream_id) DO UPDATE SET entry = ?3, read_ms = ?4 WHERE price_book.read_ms <= ?4`,
      );
      const newest = Math.max(...[...book.values()].map(({ atMs }) => atMs));
      db.transaction(() => {
        for (const [id, entry] of book) upsert.run(source, id, entryText(entry), Math.round(entry.atMs));
        if (Number.isFinite(newest)) {
          db.run("DELETE FROM price_book WHERE source = ? AND read_ms < ?", [
            source,
            Math.round(newest - entriesKeptMs),
          ]);
        }
      }).immediate();
    },
    async close() {
      db.close();
    },
  };
}
