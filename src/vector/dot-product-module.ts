/** Dot products of many pairs of rows in float32, as a module of WebAssembly with SIMD. */

/** Bytes, or instructions that consist of bytes. */
type Code = number | readonly Code[];

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

const f32 = {
  add: 0x92,
  /** Stores at `offset` bytes from an address, a multiple of 4. */
  store: (offset: number): Code => [0x38, 2, unsigned(offset)],
} as const;

const f32x4 = {
  zero: [simd(0x0c), Array.from({ length: 16 }, () => 0)] as Code,
  /** Loads from an address that is a multiple of 16. */
  load: [simd(0x00), 4, 0] as Code,
  lane: (index: number): Code => [simd(0x1f), index],
  add: simd(0xe4),
  mul: simd(0xe6),
} as const;

const local = {
  get: (index: number): Code => [0x20, unsigned(index)],
  set: (index: number): Code => [0x21, unsigned(index)],
} as const;

/** Runs the body, and again for as long as the condition holds after it. */
function doWhile(body: Code, condition: Code): Code {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

const types = { i32: 0x7f, v128: 0x7b } as const;

interface WasmFunction {
  readonly name: string;
  /** Parameters of type i32, the first locals. */
  readonly parameters: number;
  /** Further locals: first those of type i32, then the vectors. */
  readonly integers: number;
  readonly vectors: number;
  readonly body: Code;
}

/** The bytes of a module that exports the function and imports the memory `env.memory`. */
export function wasmModule({ name, parameters, integers, vectors, body }: WasmFunction): Uint8Array<ArrayBuffer> {
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

/**
 * Rows that are multiplied together. The 4 x 2 sums, 3 vectors of numbers and what V8 needs beside them fit the 16
 * vector registers of x86-64; larger tiles spill some and take twice the time.
 */
export const LEFT_TILE = 4;
export const RIGHT_TILE = 2;
/** Numbers of a vector. */
export const LANES = 4;
const VECTOR_SIZE = 16;
const FLOAT_SIZE = 4;

/**
 * The module: it exports `dots`, a function of seven addresses and sizes in bytes, `left, leftEnd, right, rightEnd,
 * rowSize, out, outRowSize`. For each row of numbers from `left` to `leftEnd` it writes the dot products with all rows
 * from `right` to `rightEnd`. The addresses and `rowSize` are multiples of 16, and the numbers of rows are multiples of
 * their tile.
 */
export function dotProductModule(): Uint8Array<ArrayBuffer> {
  let locals = 0;
  const take = (): number => locals++;
  const [left, leftEnd, right, rightEnd] = [take(), take(), take(), take()];
  const [rowSize, out, outRowSize] = [take(), take(), take()];
  const parameters = locals;
  const [tileRight, tileOut, end] = [take(), take(), take()];
  const lefts = range(LEFT_TILE).map(take);
  const rights = range(RIGHT_TILE).map(take);
  const integers = locals - parameters;
  const leftVector = take();
  const rightVectors = range(RIGHT_TILE).map(take);
  const sums = range(LEFT_TILE).map(() => range(RIGHT_TILE).map(take));

  const multiplyColumns: Code = [
    rights.map((address, j) => [local.get(address), f32x4.load, local.set(rightVectors[j] as number)]),
    lefts.map((address, i) => [
      local.get(address),
      f32x4.load,
      local.set(leftVector),
      rightVectors.map((vector, j) => {
        const sum = sums[i]?.[j] as number;
        return [local.get(sum), local.get(leftVector), local.get(vector), f32x4.mul, f32x4.add, local.set(sum)];
      }),
    ]),
    [...lefts, ...rights].map((address) => advance(address, i32.const(VECTOR_SIZE))),
  ];
  const storeSums: Code = sums.map((row, i) =>
    row.map((sum, j) => [
      rowsFrom(tileOut, outRowSize, i32.const(i)),
      range(LANES).map((lane) => [local.get(sum), f32x4.lane(lane), lane === 0 ? [] : f32.add]),
      f32.store(j * FLOAT_SIZE),
    ]),
  );
  const multiplyTile: Code = [
    lefts.map((address, i) => [rowsFrom(left, rowSize, i32.const(i)), local.set(address)]),
    rights.map((address, j) => [rowsFrom(tileRight, rowSize, i32.const(j)), local.set(address)]),
    sums.flat().map((sum) => [f32x4.zero, local.set(sum)]),
    rowsFrom(left, rowSize, i32.const(1)),
    local.set(end),
    doWhile(multiplyColumns, [local.get(lefts[0] as number), local.get(end), i32.ltU]),
    storeSums,
    advance(tileOut, i32.const(RIGHT_TILE * FLOAT_SIZE)),
    rowsFrom(tileRight, rowSize, i32.const(RIGHT_TILE)),
    local.set(tileRight),
  ];
  const body = doWhile(
    [
      [local.get(right), local.set(tileRight), local.get(out), local.set(tileOut)],
      doWhile(multiplyTile, [local.get(tileRight), local.get(rightEnd), i32.ltU]),
      [rowsFrom(out, outRowSize, i32.const(LEFT_TILE)), local.set(out)],
      [rowsFrom(left, rowSize, i32.const(LEFT_TILE)), local.set(left)],
    ],
    [local.get(left), local.get(leftEnd), i32.ltU],
  );
  return wasmModule({ name: 'dots', parameters, integers, vectors: locals - parameters - integers, body });
}

/** Adds to an address. */
function advance(address: number, by: Code): Code {
  return [local.get(address), by, i32.add, local.set(address)];
}

/** The address so many rows after another. */
function rowsFrom(start: number, size: number, count: Code): Code {
  return [local.get(start), local.get(size), count, i32.mul, i32.add];
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
