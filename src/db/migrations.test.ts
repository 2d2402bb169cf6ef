import { expect, test } from "bun:test";
import { postgresMigrations, schemaText, sqliteMigrations } from "./migrations.ts";

/** Databases in use have them: what is released never changes, and a change is a migration of its own. */
const released = {
  sqlite: {
    "1 of 1.0.0": "86fc0d020e99528a",
    "10 of 1.0.0": "cfce8febba8564ac",
    "220 of 1.1.0": "5a9b91603bfcf96c",
  },
  postgres: {
    "1 of 1.0.0": "71d211eaddfcb9b7",
    "10 of 1.0.0": "6cecb48c8e1b9522",
    "220 of 1.1.0": "b87113380d97040a",
  },
};

test("a released migration is the same for ever", () => {
  const digests = (migrations: typeof sqliteMigrations) =>
    Object.fromEntries(
      migrations.map(({ version, release, sql }) => [
        `${version} of ${release}`,
        new Bun.CryptoHasher("sha256").update(sql).digest("hex").slice(0, 16),
      ]),
    );
  expect({ sqlite: digests(sqliteMigrations), postgres: digests(postgresMigrations) }).toEqual(released);
});

test("a version of the schema is said with the release that brought it", () => {
  expect(schemaText([1, 10])).toBe("schema 10 of 1.0.0");
  expect(schemaText([1, 10, 220, 9_999])).toBe("schema 9999 of a newer release");
});
