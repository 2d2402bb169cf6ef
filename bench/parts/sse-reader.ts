/**
 * Chunks per second of the SSE reader beside `eventsource-parser`, on the same bytes, cut as a network would cut them.
 * Run: `bun bench/parts/sse-reader.ts`. Prints one line per reader and cut; each figure is the best of twelve rounds.
 */
import { SseReader } from "#upstream/stream/sse-reader.ts";
import { StreamValidator } from "#upstream/stream/stream-validator.ts";

const words = ["The", " quick", " brown", " Grüße", " 🌍", " fox", "\\n", " jumps"];
const events = 20_000;
const body = Buffer.from(
  Array.from({ length: events }, (_, i) => {
    const delta = JSON.stringify({ content: words[i % words.length] });
    return `data: {"id":"gen-1763700000-a1","object":"chat.completion.chunk","created":1763700000,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":null}]}\n\n`;
  }).join(""),
);

function cut(size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += size) pieces.push(Uint8Array.from(body.subarray(at, at + size)));
  return pieces;
}

/** One event in each read, the most common case: a model writes more slowly than the network. */
function whole(): Uint8Array[] {
  return body
    .toString()
    .split(/(?<=\n\n)/)
    .map((event) => Uint8Array.from(Buffer.from(event)));
}

type Read = (pieces: Uint8Array[]) => number;
const readers: { [name: string]: Read } = {
  "ours, data only": (pieces) => {
    let seen = 0;
    const reader = new SseReader(1_048_576);
    const decoder = new TextDecoder();
    for (const piece of pieces) reader.push(decoder.decode(piece, { stream: true }), () => seen++);
    return seen;
  },
  "ours, parsed": (pieces) => {
    let seen = 0;
    const reader = new SseReader(1_048_576);
    const decoder = new TextDecoder();
    for (const piece of pieces) {
      reader.push(decoder.decode(piece, { stream: true }), (data) => {
        if (typeof JSON.parse(data) === "object") seen++;
      });
    }
    return seen;
  },
  "ours, parsed and validated": (pieces) => {
    let seen = 0;
    const reader = new SseReader(1_048_576);
    const validator = new StreamValidator(500_000);
    const decoder = new TextDecoder();
    for (const piece of pieces) {
      reader.push(decoder.decode(piece, { stream: true }), (data, name) => {
        if (validator.validate(data, name).kind === "chunk") seen++;
      });
    }
    return seen;
  },
  "ours, by template": (pieces) => {
    let seen = 0;
    const validator = new StreamValidator(500_000);
    const reader = new SseReader(1_048_576, (text, from, until) => {
      const run = validator.matchTemplate(text, from, until);
      if (run === undefined) return from;
      seen += run.count;
      return from + run.events.length;
    });
    const decoder = new TextDecoder();
    for (const piece of pieces) {
      reader.push(decoder.decode(piece, { stream: true }), (data, name) => {
        if (validator.validate(data, name).kind === "chunk") seen++;
      });
    }
    return seen;
  },
};

// The parser is a development dependency; without it only our own figures are printed.
const specifier = "eventsource-parser";
const other:
  | { createParser(on: { onEvent(event: { data: string }): void }): { feed(text: string): void } }
  | undefined = await import(specifier).catch(() => undefined);
if (other === undefined) console.log("eventsource-parser is not installed: skipped");
else {
  readers["eventsource-parser, data only"] = (pieces) => {
    let seen = 0;
    const parser = other.createParser({ onEvent: () => seen++ });
    const decoder = new TextDecoder();
    for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
    return seen;
  };
  readers["eventsource-parser, by template"] = (pieces) => {
    let seen = 0;
    const validator = new StreamValidator(500_000);
    const parser = other.createParser({
      onEvent: ({ data }) => {
        const event = `data: ${data}\n\n`;
        const match = validator.matchTemplate(event, 0, event.length);
        if (match !== undefined || validator.validate(data, "").kind === "chunk") seen++;
      },
    });
    const decoder = new TextDecoder();
    for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
    return seen;
  };
  readers["eventsource-parser, parsed"] = (pieces) => {
    let seen = 0;
    const parser = other.createParser({
      onEvent: ({ data }) => {
        if (typeof JSON.parse(data) === "object") seen++;
      },
    });
    const decoder = new TextDecoder();
    for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
    return seen;
  };
}

const rounds = 12;
for (const [cuts, pieces] of Object.entries({
  "one event a read": whole(),
  "100 bytes": cut(100),
  "16 kB": cut(16_384),
})) {
  const best = new Map<string, number>();
  // The readers alternate, so that other load or a full heap affects both.
  for (let round = 0; round < rounds; round++) {
    for (const [name, read] of Object.entries(readers)) {
      const start = performance.now();
      const seen = read(pieces);
      const took = performance.now() - start;
      if (seen !== events) throw new Error(`${name}: ${seen} events of ${events}`);
      best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, took));
    }
  }
  for (const [name, took] of best) {
    console.log(`${cuts.padEnd(18)} ${name.padEnd(30)} ${Math.round(events / took)}k chunks/s`);
  }
}
