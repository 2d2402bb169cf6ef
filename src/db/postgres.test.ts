import { describe, expect, test } from "bun:test";
import { bindLiterals } from "./postgres.ts";

describe("values of a statement in the simple protocol", () => {
  test("become literals, each in the place of its number", () => {
    expect(bindLiterals("SELECT $2, $1, $2", ["a", 7])).toBe("SELECT 7, 'a', 7");
    expect(bindLiterals("SELECT $1", [null])).toBe("SELECT NULL");
  });

  test("are quoted, and not searched for further placeholders", () => {
    const sql = bindLiterals("SELECT $1, $2", ["it's $2", "\\"]);
    expect(sql).not.toContain("it's $2");
    expect(sql).toStartWith("SELECT E'");
  });

  test("cause an error if they are missing", () => {
    expect(() => bindLiterals("SELECT $2", ["a"])).toThrow("no value for $2");
  });
});
