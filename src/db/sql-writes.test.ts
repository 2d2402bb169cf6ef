import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { pushWrites, runFlatWrites, runSqliteWrites, type SqlValue, type SqlWrite } from "./sql-writes.ts";

function aDatabase(): Database {
  const db = new Database(":memory:", { strict: true });
  db.run("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, bytes BLOB)");
  return db;
}
const insert = "INSERT INTO item (id, name, bytes) VALUES (?)";
const rowsOf = (db: Database) => db.query("SELECT id, name, bytes FROM item ORDER BY id").all();

test("any number of rows is written, each once and unchanged", () => {
  for (let count = 0; count <= 40; count++) {
    const db = aDatabase();
    const rows = Array.from({ length: count }, (_, id): SqlValue[] => [
      id,
      id % 3 === 0 ? null : `o'${id}`,
      { blob: Buffer.from([id, 255]).toString("base64") },
    ]);
    runSqliteWrites(db, [{ sql: insert, rows }]);
    const written = Array.from({ length: count }, (_, id) => ({
      id,
      name: id % 3 === 0 ? null : `o'${id}`,
      bytes: new Uint8Array([id, 255]),
    }));
    expect(rowsOf(db)).toEqual(written);
  }
});

test("statements run in order, once for each row, also for a row without values", () => {
  const db = aDatabase();
  const writes: SqlWrite[] = [
    { sql: insert, rows: [[1, "a", null]] },
    { sql: "UPDATE item SET name = name || 'b'", rows: [[], []] },
    {
      sql: "UPDATE item SET name = name || ? WHERE id = ?",
      rows: [
        ["c", 1],
        ["d", 2],
      ],
    },
    { sql: "DELETE FROM item", rows: [] },
  ];
  runSqliteWrites(db, writes);
  expect(rowsOf(db)).toEqual([{ id: 1, name: "abbc", bytes: null }]);
});

test("writes received by another thread run from the position at which they begin", () => {
  const db = aDatabase();
  const message: SqlValue[] = [7];
  pushWrites(message, [{ sql: insert, rows: [[1, "a", null]] }]);
  runFlatWrites(db, structuredClone(message), 1);
  expect(rowsOf(db)).toEqual([{ id: 1, name: "a", bytes: null }]);
});

test("if one of the statements fails, nothing is written", () => {
  const db = aDatabase();
  const rows = [[1, "a", null]];
  expect(() =>
    runSqliteWrites(db, [
      { sql: insert, rows },
      { sql: insert, rows },
    ]),
  ).toThrow("UNIQUE");
  expect(rowsOf(db)).toEqual([]);
  runSqliteWrites(db, [{ sql: insert, rows }]);
  expect(rowsOf(db)).toHaveLength(1);
});
