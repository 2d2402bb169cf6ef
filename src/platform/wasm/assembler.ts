/**
 * Writes small WebAssembly modules of one function, for loops over bytes that JavaScript has no instructions for: 16 at a step, or numbers of 64 bits.
 * Instructions are nested as in the text format, operands first. Only what our functions use is here.
 */

/** A piece of code; its bytes depend on the blocks around it. */
export type Code = (labels: readonly string[]) => readonly number[];

export interface WasmFunction {
  readonly name: string;
  /** All of type i32. */
  readonly parameters: readonly string[];
  /** Further variables, 0 at the beginning. */
  readonly i32: readonly string[];
  readonly v128: readonly string[];
  readonly i64?: readonly string[];
  /** Leaves an i32 behind. */
  readonly body: (variables: Variables) => readonly Code[];
}

export interface Variables {
  get(name: string): Code;
  set(name: string, value: Code): Code;
  /** Adds a constant to a variable. */
  add(name: string, count: number): Code;
}

/** The bytes of a module that imports its memory as `env.memory` and exports one function. */
export function wasmModule(definition: WasmFunction): Uint8Array<ArrayBuffer> {
  const { name, parameters, i32: numbers, v128: vectors, i64: longs = [] } = definition;
  const names = [...parameters, ...numbers, ...vectors, ...longs];
  const indexOf = (variable: string) => {
    const index = names.indexOf(variable);
    if (index < 0) throw new Error(`no variable ${variable}`);
    return unsigned(index);
  };
  const get = (variable: string): Code => plain([0x20, ...indexOf(variable)]);
  const set = (variable: string, value: Code) => operation([0x21, ...indexOf(variable)], value);
  const add = (variable: string, count: number) => set(variable, i32.add(get(variable), i32.const(count)));
  const body = definition.body({ get, set, add });
  const locals = [
    ...(numbers.length === 0 ? [] : [[...unsigned(numbers.length), i32Type]]),
    ...(vectors.length === 0 ? [] : [[...unsigned(vectors.length), v128Type]]),
    ...(longs.length === 0 ? [] : [[...unsigned(longs.length), i64Type]]),
  ];
  const code = [...vector(locals), ...body.flatMap((each) => each([])), end];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [[0x60, ...vector(parameters.map(() => [i32Type])), ...vector([[i32Type]])]]),
    ...section(2, [[...text("env"), ...text("memory"), memoryKind, 0x00, 0x01]]),
    ...section(3, [[0x00]]),
    ...section(7, [[...text(name), functionKind, 0x00]]),
    ...section(10, [[...unsigned(code.length), ...code]]),
  ]);
}

const i32Type = 0x7f;
const i64Type = 0x7e;
const v128Type = 0x7b;
const emptyType = 0x40;
const functionKind = 0x00;
const memoryKind = 0x02;
const end = 0x0b;

/** Code that a `br` to its label leaves. */
export function block(label: string, ...body: readonly Code[]): Code {
  return nested(0x02, label, body);
}

/** Code that a `br` to its label begins again. */
export function loop(label: string, ...body: readonly Code[]): Code {
  return nested(0x03, label, body);
}

export function when(condition: Code, ...body: readonly Code[]): Code {
  return (labels) => [...condition(labels), ...nested(0x04, "", body)(labels)];
}

export function br(label: string): Code {
  return (labels) => {
    const depth = labels.indexOf(label);
    if (depth < 0) throw new Error(`no block ${label}`);
    return [0x0c, ...unsigned(depth)];
  };
}

export const i32 = {
  const: (value: number) => plain([0x41, ...signed(value)]),
  load: (at: Code, offset = 0) => operation([0x28, 2, ...unsigned(offset)], at),
  load8: (at: Code, offset = 0) => operation([0x2d, 0, ...unsigned(offset)], at),
  load16: (at: Code, offset = 0) => operation([0x2f, 0, ...unsigned(offset)], at),
  store: (at: Code, value: Code, offset = 0) => operation([0x36, 2, ...unsigned(offset)], at, value),
  store8: (at: Code, value: Code, offset = 0) => operation([0x3a, 0, ...unsigned(offset)], at, value),
  isZero: (value: Code) => operation([0x45], value),
  equals: (a: Code, b: Code) => operation([0x46], a, b),
  differs: (a: Code, b: Code) => operation([0x47], a, b),
  isLess: (a: Code, b: Code) => operation([0x49], a, b),
  isAtLeast: (a: Code, b: Code) => operation([0x4f], a, b),
  trailingZeros: (value: Code) => operation([0x68], value),
  add: (a: Code, b: Code) => operation([0x6a], a, b),
  subtract: (a: Code, b: Code) => operation([0x6b], a, b),
  multiply: (a: Code, b: Code) => operation([0x6c], a, b),
  and: (a: Code, b: Code) => operation([0x71], a, b),
  or: (a: Code, b: Code) => operation([0x72], a, b),
  xor: (a: Code, b: Code) => operation([0x73], a, b),
  rotateLeft: (value: Code, bits: Code) => operation([0x77], value, bits),
  shiftLeft: (value: Code, bits: number) => operation([0x74], value, i32.const(bits)),
  not: (value: Code) => operation([0x73], value, i32.const(-1)),
  shiftRight: (value: Code, bits: number) => operation([0x76], value, i32.const(bits)),
};

function plain(bytes: readonly number[]): Code {
  return () => bytes;
}

function operation(opcode: readonly number[], ...operands: readonly Code[]): Code {
  return (labels) => [...operands.flatMap((operand) => operand(labels)), ...opcode];
}

function nested(opcode: number, label: string, body: readonly Code[]): Code {
  return (labels) => [opcode, emptyType, ...body.flatMap((each) => each([label, ...labels])), end];
}

function section(id: number, items: readonly (readonly number[])[]): readonly number[] {
  const content = vector(items);
  return [id, ...unsigned(content.length), ...content];
}

function vector(items: readonly (readonly number[])[]): readonly number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function text(value: string): readonly number[] {
  return [...unsigned(value.length), ...Buffer.from(value)];
}

function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): readonly number[] {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
