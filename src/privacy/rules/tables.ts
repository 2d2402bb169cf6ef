import wordRows from "./words.jsonl" with { type: "text" };

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** The rows of one of our own tables, an object a line; `<uuid>` in a pattern is one. The tests read every row. */
export function readTable<Row>(text: string): readonly Row[] {
  const lines = text.replaceAll("<uuid>", uuid).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

const lists = new Map(readTable<{ list: string; words: string }>(wordRows).map(({ list, words }) => [list, words]));

/** A list of `words.jsonl`. */
export function wordList(name: string): ReadonlySet<string> {
  const words = lists.get(name);
  if (words === undefined) throw new Error(`words.jsonl has no list ${name}`);
  return new Set(words.split(" "));
}
