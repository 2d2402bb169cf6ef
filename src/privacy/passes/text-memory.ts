const pageBytes = 65_536;
/** For the tables of a pass over pairs of bytes. */
export const tablesAt = 0;
const tablesBytes = 4 * 65_536;
/** For what a pass lists. */
export const listAt = tablesAt + tablesBytes;
const listBytes = 32_768;
/** Bytes around a text that a pass may read with it; those before it are 0. */
const margin = 64;
const textAt = listAt + listBytes + margin;

/** Bytes of text, with room beside them for what passes of WebAssembly note of it. */
export interface TextMemory {
  readonly memory: WebAssembly.Memory;
  /** All of it. */
  readonly bytes: Uint8Array;
  /** Where the text begins. */
  readonly textAt: number;
  /** The text. */
  readonly text: Buffer;
  /** Where a bit for each byte of the text may be written. */
  readonly marksAt: number;
  /** These bits, the first of each number lowest. */
  readonly marks: Int32Array;
  /** What a pass has listed. */
  readonly list: Int32Array;
}

/** @param length room for a text, in bytes */
export function textMemory(length: number): TextMemory {
  const room = (length + margin + 63) & ~63;
  const marksAt = textAt + room + margin;
  const memory = new WebAssembly.Memory({ initial: Math.ceil((marksAt + (room >> 3) + margin) / pageBytes) });
  const bytes = new Uint8Array(memory.buffer);
  const text = Buffer.from(memory.buffer, textAt, room);
  const marks = new Int32Array(memory.buffer, marksAt, room >> 5);
  return { memory, bytes, textAt, text, marksAt, marks, list: new Int32Array(memory.buffer, listAt, listBytes >> 2) };
}

/** The next bit that is set from a place on, of marks for a text of a length; the length where there is none. */
export function nextMark(marks: Int32Array, from: number, length: number): number {
  let index = from >> 5;
  let bits = (marks[index] ?? 0) & (-1 << (from & 31));
  while (bits === 0) {
    index++;
    if (index << 5 >= length) return length;
    bits = marks[index] ?? 0;
  }
  // Behind the text, the memory holds what was there before.
  return Math.min(length, (index << 5) + 31 - Math.clz32(bits & -bits));
}

/** A function of WebAssembly; undefined where the processor lacks its instructions. */
export class Pass<F extends (...parameters: number[]) => number> {
  readonly #module: WebAssembly.Module | undefined;
  readonly #name: string;
  readonly #prepare: ((memory: TextMemory) => void) | undefined;
  #memory: TextMemory | undefined;
  #run: F | undefined;

  /** @param prepare writes what the function reads beside the text, into a memory that it is used with for the first time */
  constructor(name: string, code: Uint8Array<ArrayBuffer>, prepare?: (memory: TextMemory) => void) {
    this.#name = name;
    this.#prepare = prepare;
    this.#module = compiled(code);
  }

  /** The function, for the texts in a memory. */
  in(memory: TextMemory): F | undefined {
    if (this.#memory === memory || this.#module === undefined) return this.#run;
    const { exports } = new WebAssembly.Instance(this.#module, { env: { memory: memory.memory } });
    this.#prepare?.(memory);
    this.#memory = memory;
    this.#run = exports[this.#name] as F; // the only export
    return this.#run;
  }
}

function compiled(code: Uint8Array<ArrayBuffer>): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(code);
  } catch {
    return undefined;
  }
}
