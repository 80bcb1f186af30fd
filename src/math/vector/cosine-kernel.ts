/**
 * Computes approximate cosines of rows that are rounded to 16-bit integers, using WebAssembly SIMD. The error of these
 * cosines has a strict bound, so callers can exclude most pairs and compute only the remaining pairs in float64.
 * Integers are faster: one instruction multiplies eight 16-bit integers, but only four float32 numbers.
 */

import type { Matrix } from './matrix.ts';

/** Types of the WebAssembly API that is used here; every supported Node.js version provides it, with SIMD. */
declare const WebAssembly: {
  Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer; grow(pages: number): number };
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  Instance: new (module: object, imports: object) => { readonly exports: { readonly dots: Dots } };
};

/** Addresses and sizes are in bytes. */
type Dots = (
  left: number,
  leftEnd: number,
  right: number,
  rightEnd: number,
  rowSize: number,
  out: number,
  outRowSize: number,
) => void;

const FLOAT_SIZE = 4;
const INTEGER_SIZE = 2;
/**
 * The integer that represents 1. With this scale, the coordinates of a unit vector fit into 16 bits, and the dot
 * product of two unit vectors fits into 32 bits.
 */
const ONE = 32_767;
/** Offset that makes every coordinate positive, plus one half, so that truncation rounds to the nearest integer. */
const SHIFT = ONE + 0.5;
const PAGE_SIZE = 65_536;

/** Vectors whose cosines are computed. */
type DirectionRows = Pick<Matrix, 'columns' | 'data'>;

interface Kernel {
  readonly memory: InstanceType<(typeof WebAssembly)['Memory']>;
  readonly dots: Dots;
}

/**
 * The only kernel of this thread. A thread shares one kernel, because every WebAssembly memory reserves gigabytes of
 * address space.
 */
let kernel: Kernel | undefined;

/**
 * Returns memory for two blocks of rows. All calls in a thread share one memory, so the next call invalidates the
 * blocks of this call.
 *
 * @param leftRows maximum number of rows in the left block
 * @param rightRows maximum number of rows in the right block, which should fit into the second-level cache
 */
export function cosineBlocks(columns: number, leftRows: number, rightRows: number) {
  kernel ??= startKernel();
  const { memory, dots } = kernel;
  const width = roundUp(Math.max(1, columns), LANES);
  const rowSize = width * INTEGER_SIZE;
  const stride = roundUp(leftRows, LEFT_TILE);
  const rightStart = stride * rowSize;
  const outStart = rightStart + roundUp(rightRows, RIGHT_TILE) * rowSize;
  const missing = outStart + roundUp(rightRows, RIGHT_TILE) * stride * FLOAT_SIZE - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_SIZE));
  const integers = new Int16Array(memory.buffer);
  const cosines = new Float32Array(memory.buffer, outStart, roundUp(rightRows, RIGHT_TILE) * stride);
  let left = { end: 0, moved: 0 };
  let right = { end: rightStart, moved: 0 };

  const copy = (target: number, tile: number, rows: DirectionRows, from: number, to: number, scales: Float64Array) => {
    const start = target / INTEGER_SIZE;
    let moved = 0;
    for (let row = from; row < to; row++) {
      const first = start + (row - from) * width;
      const scale = (scales[row] ?? 0) * ONE;
      moved = Math.max(moved, copyRounded(rows.data, row * columns, columns, scale, integers, first));
      integers.fill(0, first + columns, first + width);
    }
    const end = start + roundUp(to - from, tile) * width;
    integers.fill(0, start + (to - from) * width, end);
    return { end: end * INTEGER_SIZE, moved: moved / ONE };
  };
  return {
    /** Offset from one row of cosines to the next. */
    stride,
    /**
     * Copies rows [from, to) to the left block.
     *
     * @param scales 1 / length of each row; if 0, all cosines of the row are 0
     */
    setLeft(rows: DirectionRows, from: number, to: number, scales: Float64Array): void {
      left = copy(0, LEFT_TILE, rows, from, to, scales);
    },
    setRight(rows: DirectionRows, from: number, to: number, scales: Float64Array): void {
      right = copy(rightStart, RIGHT_TILE, rows, from, to, scales);
    },
    /**
     * Returns the cosines of all rows in the right block with all rows in the left block: one row of `stride` numbers
     * for each right row. In each row, the numbers beyond the last left row are undefined. The cosines are valid until
     * the next call.
     */
    cosines(): Float32Array {
      if (left.end > 0 && right.end > rightStart) {
        dots(0, left.end, rightStart, right.end, rowSize, outStart, stride * FLOAT_SIZE);
      }
      return cosines;
    },
    /**
     * Maximum difference between these cosines and the true cosines. If rounding moves two unit vectors by r and s,
     * their dot product changes by at most r + s + r s (Cauchy-Schwarz inequality). The sums of products are exact,
     * because they are sums of integers. The constant covers the conversion of sums to float32, float32 centroids, and
     * float64 rounding.
     */
    tolerance(): number {
      return left.moved + right.moved + left.moved * right.moved + 2 ** -21;
    },
  };
}

/** Returns the distance by which rounding moved the row, in the unit of the integers. */
function copyRounded(
  source: Float32Array,
  from: number,
  count: number,
  scale: number,
  target: Int16Array,
  start: number,
): number {
  let squares = 0;
  for (let c = 0; c < count; c++) {
    // Multiplying a non-finite number by 0 would yield NaN.
    const value = scale === 0 ? 0 : (source[from + c] as number) * scale;
    // Truncating a positive number rounds it down, in a quarter of the time that Math.round takes.
    const rounded = ((value + SHIFT) | 0) - ONE;
    squares += (value - rounded) ** 2;
    target[start + c] = rounded;
  }
  return Math.sqrt(squares);
}

function startKernel(): Kernel {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const module = new WebAssembly.Module(dotProductModule());
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return { memory, dots: exports.dots };
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

/** Machine code: a byte, or a list of code, which may be nested. */
type Code = number | readonly Code[];

/** Signed LEB128, the encoding of i32 constants. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    const low = rest & 0x7f;
    const isLast = (rest >> 6 === 0 && (low & 0x40) === 0) || (rest >> 6 === -1 && (low & 0x40) !== 0);
    bytes.push(isLast ? low : low | 0x80);
    if (isLast) return bytes;
  }
}

/** Unsigned LEB128, the encoding of indices, offsets and lengths. */
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
  const: (value: number): Code => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)],
  mul: 0x94,
  convertI32: 0xb2,
  /** Instruction that stores a float32 `offset` bytes after an address that is a multiple of 4. */
  store: (offset: number): Code => [0x38, 2, unsigned(offset)],
} as const;

const v128 = {
  zero: [simd(0x0c), Array.from({ length: 16 }, () => 0)] as Code,
  /** Instruction that loads eight 16-bit integers from an address that is a multiple of 16. */
  load: [simd(0x00), 4, 0] as Code,
} as const;

const i32x4 = {
  lane: (index: number): Code => [simd(0x1b), index],
  add: simd(0xae),
  /** Multiplies eight 16-bit integers by eight others, and adds the products in pairs. */
  dotI16x8: simd(0xba),
} as const;

const local = {
  get: (index: number): Code => [0x20, unsigned(index)],
  set: (index: number): Code => [0x21, unsigned(index)],
} as const;

/** Returns machine code that runs the body, and repeats the body while the condition is true. */
function doWhile(body: Code, condition: Code): Code {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

const types = { i32: 0x7f, v128: 0x7b } as const;

interface WasmFunction {
  readonly name: string;
  /** Number of parameters; all are of type i32, and they are the first locals. */
  readonly parameters: number;
  /**
   * Number of additional locals of type i32, which follow the parameters; the `vectors` locals of type v128 come last.
   */
  readonly integers: number;
  readonly vectors: number;
  readonly body: Code;
}

/** Returns the bytes of a module that exports the function and imports the memory `env.memory`. */
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

/** Returns the content, preceded by its length in bytes. */
function sized(content: Code): Code {
  const bytes = flatten(content);
  return [unsigned(bytes.length), bytes];
}

/** Returns the items, preceded by their count. */
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
 * A tile consists of `LEFT_TILE` left rows and `RIGHT_TILE` right rows, whose dot products are computed together. The 4
 * x 2 sums, 3 vectors of numbers and the registers that V8 reserves fit into the 16 vector registers of x86-64. Larger
 * tiles need more registers and take twice the time.
 */
const LEFT_TILE = 4;
const RIGHT_TILE = 2;
/** Numbers per vector. */
const LANES = 8;
const VECTOR_SIZE = 16;

/**
 * The module exports `dots`, a function with seven addresses and sizes in bytes: `left, leftEnd, right, rightEnd,
 * rowSize, out, outRowSize`. For each row of integers from `right` to `rightEnd`, the function writes the dot products
 * with all rows from `left` to `leftEnd`, divided by `ONE` squared. The addresses and `rowSize` are multiples of 16,
 * and the row counts are multiples of the tile size.
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
    rights.map((address, j) => [local.get(address), v128.load, local.set(rightVectors[j] as number)]),
    lefts.map((address, i) => [
      local.get(address),
      v128.load,
      local.set(leftVector),
      rightVectors.map((vector, j) => {
        const sum = sums[i]?.[j] as number;
        return [local.get(sum), local.get(leftVector), local.get(vector), i32x4.dotI16x8, i32x4.add, local.set(sum)];
      }),
    ]),
    [...lefts, ...rights].map((address) => advance(address, i32.const(VECTOR_SIZE))),
  ];
  const storeSums: Code = sums.map((row, i) =>
    row.map((sum, j) => [
      rowsFrom(tileOut, outRowSize, i32.const(j)),
      range(VECTOR_SIZE / FLOAT_SIZE).map((lane) => [local.get(sum), i32x4.lane(lane), lane === 0 ? [] : i32.add]),
      [f32.convertI32, f32.const(1 / ONE ** 2), f32.mul, f32.store(i * FLOAT_SIZE)],
    ]),
  );
  const multiplyTile: Code = [
    lefts.map((address, i) => [rowsFrom(left, rowSize, i32.const(i)), local.set(address)]),
    rights.map((address, j) => [rowsFrom(tileRight, rowSize, i32.const(j)), local.set(address)]),
    sums.flat().map((sum) => [v128.zero, local.set(sum)]),
    rowsFrom(left, rowSize, i32.const(1)),
    local.set(end),
    doWhile(multiplyColumns, [local.get(lefts[0] as number), local.get(end), i32.ltU]),
    storeSums,
    [rowsFrom(tileOut, outRowSize, i32.const(RIGHT_TILE)), local.set(tileOut)],
    rowsFrom(tileRight, rowSize, i32.const(RIGHT_TILE)),
    local.set(tileRight),
  ];
  const body = doWhile(
    [
      [local.get(right), local.set(tileRight), local.get(out), local.set(tileOut)],
      doWhile(multiplyTile, [local.get(tileRight), local.get(rightEnd), i32.ltU]),
      advance(out, i32.const(LEFT_TILE * FLOAT_SIZE)),
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

/** Returns the address that is `count` rows after another address. */
function rowsFrom(start: number, size: number, count: Code): Code {
  return [local.get(start), local.get(size), count, i32.mul, i32.add];
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
