import { describe, expect, test } from "bun:test";
import { parseDatabaseUrl } from "./database-url.ts";

describe("DATABASE_URL", () => {
  test.each([
    ["sqlite:./data/gateway.db", { kind: "sqlite", path: "./data/gateway.db" }],
    ["sqlite:/var/lib/gateway.db", { kind: "sqlite", path: "/var/lib/gateway.db" }],
    ["sqlite::memory:", { kind: "sqlite", path: ":memory:" }],
    ["postgres://user@host/db", { kind: "postgres", url: "postgres://user@host/db" }],
    ["postgresql://host:5432/db", { kind: "postgres", url: "postgresql://host:5432/db" }],
  ] as const)("names a database: %s", (url, location) => {
    expect(parseDatabaseUrl(url)).toEqual(location);
  });

  test.each(["", "sqlite:", "sqlite://data/gateway.db", "postgres://[bad", "mysql://host/db", "./gateway.db"])(
    "of any other form is refused: %s",
    (url) => {
      expect(parseDatabaseUrl(url)).toBeUndefined();
    },
  );
});
