import { describe, expect, test } from "bun:test";
import { pythonLiteralIn } from "./python-literal.ts";

describe("a Python literal is read as the value it stands for", () => {
  test.each([
    [`{'command': "it's", 'timeout': 60}`, { command: "it's", timeout: 60 }],
    ["[{'a': True, 'b': None}, (1, -2.5e3), ]", [{ a: true, b: null }, [1, -2500]]],
    ["'a\\nb\\'c\\\\d\\x41\\u00e9'", "a\nb'c\\dAé"],
    [`"""two\n"lines" """`, 'two\n"lines" '],
    [`{'mixed': true, "json": null}`, { mixed: true, json: null }],
    ["f'cd {folder}'", "cd {folder}"],
    ["{}", {}],
  ])("%s", (text, value) => {
    expect(pythonLiteralIn(text)).toEqual(value);
  });

  test.each(["", "{'a': ", "{'a'}", "[1 2]", "print('a')", "'open", "{'a': 1} more", "[".repeat(40)])(
    "not %s",
    (text) => {
      expect(pythonLiteralIn(text)).toBeUndefined();
    },
  );

  test("in time linear in the text, also of hostile ones", () => {
    const started = performance.now();
    for (const text of ["['", "{'a':", '"""', "['a',"]) pythonLiteralIn(text.repeat(20_000));
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
