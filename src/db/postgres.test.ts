import { describe, expect, test } from "bun:test";
import { statementWith } from "./postgres.ts";

describe("values of a statement in the simple protocol", () => {
  test("are quoted, and not searched for further placeholders", () => {
    const sql = statementWith("SELECT ?, ?", ["it's ?", "\\"]);
    expect(sql).not.toContain("it's ?");
    expect(sql).toStartWith("SELECT E'");
  });

  test("cause an error if they are missing", () => {
    expect(() => statementWith("SELECT ?, ?", ["a"])).toThrow("fewer values than places");
  });
});
