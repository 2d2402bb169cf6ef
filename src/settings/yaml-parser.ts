import { Composer, type CST, type Document, isScalar, type LineCounter, Parser, visit, YAMLParseError } from "yaml";

/**
 * Lists and maps inside of each other, and signs (keys, values, brackets, spaces). The files of a gateway have a handful of
 * levels and some thousand signs. The bounds are there because a running gateway does nothing else while it parses.
 */
const maxDepth = 64;
const maxSigns = 30_000;

/** The documents of a YAML text with what is wrong with each, or why the text is not parsed. */
export function parseYaml(text: string, lines: LineCounter): Document[] | string {
  const parser = new BoundedParser(lines.addNewLine);
  // The library compares each key of a map with all before it.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  try {
    const documents = Array.from(composer.compose(parser.parse(text)));
    for (const document of documents) reportKeysThatStandTwice(document);
    return documents;
  } catch (error) {
    if (error instanceof TooMuch) return error.message;
    throw error;
  }
}

class TooMuch extends Error {}

class BoundedParser extends Parser {
  #signs = 0;

  override *next(sign: string): Generator<CST.Token, void> {
    if (this.stack.length > maxDepth) throw new TooMuch(`nests deeper than ${maxDepth} levels`);
    if (++this.#signs > maxSigns) throw new TooMuch(`holds more than ${maxSigns} keys, values and signs`);
    yield* super.next(sign);
  }
}

function reportKeysThatStandTwice(document: Document): void {
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (keys.has(name)) {
          const at = key.range?.[0] ?? 0;
          document.errors.push(new YAMLParseError([at, at + 1], "DUPLICATE_KEY", "Map keys must be unique"));
        }
        keys.add(name);
      }
    },
  });
}
