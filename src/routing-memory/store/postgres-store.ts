import { migratePostgres, PostgresConnection, roundedLiteral, textLiteral } from "#db/postgres.ts";
import { deleteBeyondRetention } from "#db/retention.ts";
import { type MemoryRow, newSalt, type RoutingMemoryStore } from "./routing-memory-store.ts";

/** Memory can be lost; a message that has no answer by then is taken for lost. */
const answerLimitMs = 3_000;
const limits = { lockMs: 300, statementMs: 2_000, durable: false };

/** Routing memory in PostgreSQL, over a connection of its own, for all nodes. Rejects when the database cannot be reached. */
export async function openPostgresRoutingMemory(url: string): Promise<RoutingMemoryStore> {
  await migratePostgres(url);
  return postgresRoutingMemory(new PostgresConnection(url, answerLimitMs));
}

/** The same over a connection, which it closes with itself. */
function postgresRoutingMemory(connection: PostgresConnection): RoutingMemoryStore {
  return {
    async salt() {
      const select = "SELECT salt FROM routing_salt WHERE id = 1";
      const [known = []] = await connection.run(select);
      if (known[0] !== undefined) return String(known[0]["salt"]);
      await connection.run(
        `INSERT INTO routing_salt (id, salt) VALUES (1, ${textLiteral(newSalt())}) ON CONFLICT DO NOTHING`,
      );
      const [rows = []] = await connection.run(select);
      return String(rows[0]?.["salt"]);
    },
    async newest(kind) {
      const [rows = []] = await connection.run(
        `SELECT max(heard_ms) AS newest FROM routing_memory WHERE kind = ${textLiteral(kind)}`,
      );
      const newest = rows[0]?.["newest"];
      return newest === null || newest === undefined ? undefined : Number(newest);
    },
    async load(kind, keyHashes) {
      if (keyHashes.length === 0) return [];
      const [rows = []] = await connection.run(
        `SELECT key_hash, value, heard_ms FROM routing_memory
         WHERE kind = ${textLiteral(kind)} AND key_hash IN (${keyHashes.map(textLiteral).join(", ")})`,
      );
      return rows.map((row) => ({
        kind,
        keyHash: String(row["key_hash"]),
        value: String(row["value"]),
        lastSeenMs: Number(row["heard_ms"]),
      }));
    },
    async save(rows) {
      if (rows.length === 0) return;
      // In one order everywhere, so that two nodes never wait for each other.
      const values = rows.toSorted(byKey).map(({ kind, keyHash, value, lastSeenMs }) => {
        return `(${textLiteral(kind)}, ${textLiteral(keyHash)}, ${textLiteral(value)}, ${roundedLiteral(lastSeenMs)})`;
      });
      await connection.transact(limits, [
        `INSERT INTO routing_memory (kind, key_hash, value, heard_ms) VALUES ${values.join(", ")}
         ON CONFLICT (kind, key_hash) DO UPDATE SET value = excluded.value, heard_ms = excluded.heard_ms
         WHERE routing_memory.heard_ms <= excluded.heard_ms`,
      ]);
    },
    async prune(kind, { rows, fromMs }) {
      const values = { from: roundedLiteral(fromMs), rows: roundedLiteral(rows) };
      const only = `kind = ${textLiteral(kind)}`;
      await connection.transact(limits, [deleteBeyondRetention("routing_memory", "heard_ms", values, only)]);
    },
    async close() {
      await connection.close();
    },
  };
}

function byKey(a: MemoryRow, b: MemoryRow): number {
  return `${a.kind}${a.keyHash}` < `${b.kind}${b.keyHash}` ? -1 : 1;
}
