import { type TextMemory, textMemory } from "#privacy/passes/text-memory.ts";
import { SourceOffsets } from "./source-offsets.ts";

/** Buffers above this size are given back after use. */
const keptLength = 8 * 1_048_576;
const minLength = 64 * 1_024;
/** Behind a text, for readers that look ahead. */
const endingZeros = 8;

/** Where a normalized text is written: buffers that every text reuses, and what is known at the place that was reached. */
export class NormalizedOutput {
  memory: TextMemory = textMemory(minLength);
  bytes = this.memory.text;
  /** The same memory, two bytes at a step. */
  pairs = pairsOf(this.bytes);
  length = 0;
  /** Between `://` and the next `/`, an escaped `@` or `:` is part of a password. */
  isInAuthority = false;
  /** 1 at indices before which something invisible was dropped; undefined while there is none. */
  hiddenBoundaries: Uint8Array | undefined;
  readonly sourceOffsets = new SourceOffsets();
  #boundaryMarks = new Uint8Array(0);
  #room = 0;

  /** Begins a text that takes at most `room` bytes. */
  begin(room: number): void {
    this.#reserve(room);
    this.#room = room;
    this.length = 0;
    this.isInAuthority = false;
    this.hiddenBoundaries = undefined;
    this.sourceOffsets.clear();
  }

  /** Something invisible stood at the place that was reached. */
  markBoundary(): void {
    this.hiddenBoundaries ??= this.#clearedBoundaryMarks();
    this.hiddenBoundaries[this.length] = 1;
  }

  /** Ends the text with the zeros that readers look ahead to. */
  end(): void {
    for (let i = 0; i < endingZeros; i++) this.bytes[this.length + i] = 0;
  }

  #reserve(length: number): void {
    const needed = length + endingZeros;
    if (this.bytes.length >= needed && (this.bytes.length <= keptLength || length >= keptLength)) return;
    this.memory = textMemory(Math.max(needed, minLength));
    this.bytes = this.memory.text;
    this.pairs = pairsOf(this.bytes);
  }

  #clearedBoundaryMarks(): Uint8Array {
    const length = this.#room + 1;
    if (this.#boundaryMarks.length < length || this.#boundaryMarks.length > keptLength)
      this.#boundaryMarks = new Uint8Array(length + 16_384);
    else this.#boundaryMarks.fill(0, 0, length);
    return this.#boundaryMarks;
  }
}

function pairsOf(bytes: Buffer): Uint16Array {
  return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
}
