import { Composer, type CST, type Document, isScalar, type LineCounter, Parser, visit, YAMLParseError } from "yaml";

// A running gateway does nothing else while it parses a file. Usual files have a handful of levels and some thousand tokens;
// a registry of 1,000 models has some 90,000.
const maxDepth = 64;
const maxTokens = 100_000;

/** The first documents of a YAML text, two at most, each with its errors and warnings; or why the text is not parsed. */
export function parseYaml(text: string, lines: LineCounter): Document[] | string {
  const parser = new BoundedParser(lines.addNewLine);
  // The library's own check for duplicate keys compares each key of a map with all before it.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  try {
    const documents: Document[] = [];
    for (const document of composer.compose(parser.parse(text))) {
      reportDuplicateKeys(document);
      // A second one is an error already.
      if (documents.push(document) === 2) break;
    }
    return documents;
  } catch (error) {
    if (error instanceof LimitExceeded) return error.message;
    throw error;
  }
}

class LimitExceeded extends Error {}

/** Stops at the depth and at the number of tokens (keys, values, brackets, line ends, spaces) that are allowed. */
class BoundedParser extends Parser {
  #tokens = 0;

  override *next(token: string): Generator<CST.Token, void> {
    if (this.stack.length > maxDepth) throw new LimitExceeded(`nests deeper than ${maxDepth} levels`);
    if (++this.#tokens > maxTokens) throw new LimitExceeded(`has more than ${maxTokens} YAML tokens`);
    yield* super.next(token);
  }
}

function reportDuplicateKeys(document: Document): void {
  visit(document, {
    Map(_, { items }) {
      const names = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (names.has(name)) {
          const at = key.range?.[0] ?? 0;
          document.errors.push(new YAMLParseError([at, at + 1], "DUPLICATE_KEY", "Map keys must be unique"));
        }
        names.add(name);
      }
    },
  });
}
