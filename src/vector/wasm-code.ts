/**
 * A small assembler of WebAssembly: one module with one function over imported memory, written as nested arrays of
 * bytes. Numbers are those of the WebAssembly 2.0 core specification, sections 5.4 (instructions) and 5.5 (modules).
 */

/** Bytes, or instructions that consist of bytes. */
export type Code = number | readonly Code[];

/** Signed LEB128, as constants of type i32 are written. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    const low = rest & 0x7f;
    const isLast = (rest >> 6 === 0 && (low & 0x40) === 0) || (rest >> 6 === -1 && (low & 0x40) !== 0);
    bytes.push(isLast ? low : low | 0x80);
    if (isLast) return bytes;
  }
}

/** Unsigned LEB128, as indices, offsets and lengths are written. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    bytes.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) return bytes;
  }
}

function simd(opcode: number): Code {
  return [0xfd, unsigned(opcode)];
}

export const i32 = {
  const: (value: number): Code => [0x41, signed(value)],
  add: 0x6a,
  mul: 0x6c,
  ltU: 0x49,
} as const;

export const f32 = {
  add: 0x92,
  /** Stores at `offset` bytes from an address, a multiple of 4. */
  store: (offset: number): Code => [0x38, 2, unsigned(offset)],
} as const;

export const f32x4 = {
  zero: [simd(0x0c), Array.from({ length: 16 }, () => 0)] as Code,
  /** Loads from an address that is a multiple of 16. */
  load: [simd(0x00), 4, 0] as Code,
  lane: (index: number): Code => [simd(0x1f), index],
  add: simd(0xe4),
  mul: simd(0xe6),
} as const;

export const local = {
  get: (index: number): Code => [0x20, unsigned(index)],
  set: (index: number): Code => [0x21, unsigned(index)],
} as const;

/** Runs the body, and again for as long as the condition holds after it. */
export function doWhile(body: Code, condition: Code): Code {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

const types = { i32: 0x7f, v128: 0x7b } as const;

export interface WasmFunction {
  readonly name: string;
  /** Parameters of type i32, the first locals. */
  readonly parameters: number;
  /** Further locals: first those of type i32, then the vectors. */
  readonly integers: number;
  readonly vectors: number;
  readonly body: Code;
}

/** The bytes of a module that exports the function and imports the memory `env.memory`. */
export function wasmModule({
  name,
  parameters,
  integers,
  vectors,
  body,
}: WasmFunction): Uint8Array<ArrayBuffer> {
  const functionType = [0x60, vectorOf(Array.from({ length: parameters }, () => types.i32)), 0];
  const locals = [2, unsigned(integers), types.i32, unsigned(vectors), types.v128];
  return Uint8Array.from(
    flatten([
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [1, functionType]),
      section(2, [1, text('env'), text('memory'), 0x02, 0x00, 1]),
      section(3, [1, 0]),
      section(7, [1, text(name), 0x00, 0]),
      section(10, [1, sized([locals, body, 0x0b])]),
    ]),
  );
}

function section(id: number, content: Code): Code {
  return [id, sized(content)];
}

/** Content after its length in bytes. */
function sized(content: Code): Code {
  const bytes = flatten(content);
  return [unsigned(bytes.length), bytes];
}

/** Items after their number. */
function vectorOf(items: readonly Code[]): Code {
  return [unsigned(items.length), items];
}

function text(ascii: string): Code {
  return vectorOf(Array.from({ length: ascii.length }, (_, i) => ascii.charCodeAt(i)));
}

function flatten(code: Code): number[] {
  return typeof code === 'number' ? [code] : code.flatMap(flatten);
}
