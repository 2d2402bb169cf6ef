/**
 * Values of the same kind as columns: what is the same in all of them is there once, and no name is there twice. Records that
 * are written together have most in common, and writing a column costs a fraction of what writing its values one by one does.
 *
 * JSON keeps it as it is: `undefined` stands where JSON would leave a property out.
 */
export type Column =
  /** Every line has this value; absent: undefined. */
  | { readonly same?: unknown }
  /** A value for each line. */
  | { readonly each: readonly unknown[] }
  /** Objects: a column for each property. */
  | { readonly keys: { readonly [name: string]: Column } }
  /** Lists: a column for each place, and how long the lists are where they differ. */
  | { readonly items: readonly Column[]; readonly lengths?: readonly number[] }
  /** Values of different kinds: those of some lines, and those of the others. */
  | { readonly lines: readonly number[]; readonly of: Column; readonly rest: Column };

type Kind = "absent" | "plain" | "list" | "object";

/** The values of the lines, in their order. They must be such as JSON has, or undefined. */
export function columnOf(values: readonly unknown[]): Column {
  const kind = kindOf(values[0]);
  for (let line = 1; line < values.length; line++) if (kindOf(values[line]) !== kind) return mixed(values, kind);
  if (kind === "list") return itemsOf(values as Lists);
  if (kind === "object") return { keys: keysOf(values as readonly Fields[]) };
  return values.every((value) => value === values[0]) ? { same: values[0] } : { each: values };
}

/** The value of a line. */
export function valueAt(column: Column, line: number): unknown {
  if ("each" in column) return column.each[line];
  if ("keys" in column) {
    const fields: [string, unknown][] = [];
    for (const name in column.keys) {
      const value = valueAt(column.keys[name] ?? {}, line);
      if (value !== undefined) fields.push([name, value]);
    }
    return Object.fromEntries(fields);
  }
  if ("items" in column) {
    const length = column.lengths?.[line] ?? column.items.length;
    return column.items.slice(0, length).map((item) => valueAt(item, line));
  }
  if ("lines" in column) {
    const at = column.lines.findIndex((each) => each >= line);
    if (column.lines[at] === line) return valueAt(column.of, at);
    return valueAt(column.rest, line - (at === -1 ? column.lines.length : at));
  }
  return column.same;
}

/** A column of that line alone. */
export function lineOf(column: Column, line: number): Column {
  if ("each" in column) return { same: column.each[line] };
  if ("keys" in column) {
    const keys: { [name: string]: Column } = {};
    for (const name in column.keys) keys[name] = lineOf(column.keys[name] ?? {}, line);
    return { keys };
  }
  if ("items" in column) {
    const length = column.lengths?.[line] ?? column.items.length;
    return { items: column.items.slice(0, length).map((item) => lineOf(item, line)) };
  }
  if ("lines" in column) {
    const at = column.lines.findIndex((each) => each >= line);
    if (column.lines[at] === line) return lineOf(column.of, at);
    return lineOf(column.rest, line - (at === -1 ? column.lines.length : at));
  }
  return column;
}

type Fields = { readonly [name: string]: unknown };

function kindOf(value: unknown): Kind {
  if (value === undefined) return "absent";
  if (typeof value !== "object" || value === null) return "plain";
  return Array.isArray(value) ? "list" : "object";
}

/** Those of the kind are the rest; so the others, of one kind or of several, are fewer with every step. */
function mixed(values: readonly unknown[], kind: Kind): Column {
  const lines: number[] = [];
  for (const [line, value] of values.entries()) if (kindOf(value) !== kind) lines.push(line);
  const rest = columnOf(values.filter((value) => kindOf(value) === kind));
  return { lines, of: columnOf(lines.map((line) => values[line])), rest };
}

function keysOf(values: readonly Fields[]): { readonly [name: string]: Column } {
  const names = new Set<string>();
  for (const value of values) for (const name in value) names.add(name);
  return Object.fromEntries([...names].map((name) => [name, columnOf(values.map((value) => value[name]))]));
}

type Lists = readonly (readonly unknown[])[];

function itemsOf(lists: Lists): Column {
  const [first = []] = lists;
  let [longest, shortest] = [first.length, first.length];
  for (const { length } of lists) {
    if (length > longest) longest = length;
    if (length < shortest) shortest = length;
  }
  const items: Column[] = [];
  for (let place = 0; place < longest; place++) {
    items.push(haveSame(lists, place) ? { same: first[place] } : columnOf(valuesAt(lists, place)));
  }
  return shortest === longest ? { items } : { items, lengths: lists.map(({ length }) => length) };
}

function valuesAt(lists: Lists, place: number): readonly unknown[] {
  const values: unknown[] = [];
  for (let line = 0; line < lists.length; line++) values.push(lists[line]?.[place]);
  return values;
}

/**
 * Whether all lists have one plain value in that place. Numbers and texts have loops of their own: values of which the JIT does not know
 * the kind are compared by a call, which takes five times as long.
 */
function haveSame(lists: Lists, place: number): boolean {
  const value = lists[0]?.[place];
  if (typeof value === "number") return haveNumber(lists, place, value);
  if (typeof value === "string") return haveText(lists, place, value);
  if (typeof value === "object" && value !== null) return false;
  for (let line = 1; line < lists.length; line++) if (lists[line]?.[place] !== value) return false;
  return true;
}

function haveNumber(lists: Lists, place: number, number: number): boolean {
  for (let line = 1; line < lists.length; line++) {
    const value = lists[line]?.[place];
    if (typeof value !== "number" || value !== number) return false;
  }
  return true;
}

function haveText(lists: Lists, place: number, text: string): boolean {
  for (let line = 1; line < lists.length; line++) {
    const value = lists[line]?.[place];
    if (typeof value !== "string" || value !== text) return false;
  }
  return true;
}
