/**
 * Computes cosines in float32, by WebAssembly with SIMD. Because the error of these cosines has a strict bound, callers
 * can use them to exclude most pairs and compute only the remaining pairs in float64.
 */

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
const PAGE_SIZE = 65_536;

/** Vectors whose cosines are computed. */
export interface DirectionRows {
  readonly columns: number;
  /** Row-major. */
  readonly data: Float32Array | Float64Array;
}

interface Kernel {
  readonly memory: InstanceType<(typeof WebAssembly)['Memory']>;
  readonly dots: Dots;
}

/** The only kernel of this thread, because every WebAssembly memory reserves gigabytes of address space. */
let kernel: Kernel | undefined;

/**
 * Returns space for two blocks of rows. Each thread has only one such space, so the next call invalidates it.
 *
 * @param leftRows maximum number of rows in the left block
 * @param rightRows maximum number of rows in the right block
 */
export function cosineBlocks(columns: number, leftRows: number, rightRows: number) {
  kernel ??= startKernel();
  const { memory, dots } = kernel;
  const width = roundUp(Math.max(1, columns), LANES);
  const rowSize = width * FLOAT_SIZE;
  const stride = roundUp(rightRows, RIGHT_TILE);
  const rightStart = roundUp(leftRows, LEFT_TILE) * rowSize;
  const outStart = rightStart + stride * rowSize;
  const missing = outStart + roundUp(leftRows, LEFT_TILE) * stride * FLOAT_SIZE - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_SIZE));
  const floats = new Float32Array(memory.buffer);
  let rightEnd = rightStart;

  const copy = (target: number, tile: number, rows: DirectionRows, from: number, to: number, scales: Float64Array) => {
    const start = target / FLOAT_SIZE;
    for (let row = from; row < to; row++) {
      copyScaled(rows.data, row * columns, columns, scales[row] ?? 0, floats, start + (row - from) * width);
      floats.fill(0, start + (row - from) * width + columns, start + (row - from + 1) * width);
    }
    const end = start + roundUp(to - from, tile) * width;
    floats.fill(0, start + (to - from) * width, end);
    return end * FLOAT_SIZE;
  };
  return {
    /** Maximum error of a computed cosine. */
    tolerance: cosineTolerance(columns),
    /** Offset from one row of cosines to the next. */
    stride,
    /**
     * Copies rows [from, to) to the left block.
     *
     * @param scales 1 / length of each row; if 0, all cosines of the row are 0
     */
    setLeft(rows: DirectionRows, from: number, to: number, scales: Float64Array): void {
      copy(0, LEFT_TILE, rows, from, to, scales);
    },
    setRight(rows: DirectionRows, from: number, to: number, scales: Float64Array): void {
      rightEnd = copy(rightStart, RIGHT_TILE, rows, from, to, scales);
    },
    /**
     * The cosines of rows [from, to) in the left block with all rows in the right block: row-major, with `stride`
     * numbers per row. In each row, the numbers beyond the last right row are undefined. The cosines are valid until
     * the next call.
     *
     * @param from a multiple of 4
     */
    cosines(from: number, to: number): Float32Array {
      const leftEnd = roundUp(to, LEFT_TILE) * rowSize;
      if (to > from && rightEnd > rightStart) {
        dots(from * rowSize, leftEnd, rightStart, rightEnd, rowSize, outStart, stride * FLOAT_SIZE);
      }
      return floats.subarray(outStart / FLOAT_SIZE, outStart / FLOAT_SIZE + (to - from) * stride);
    },
  };
}

/**
 * The maximum difference between a float32 cosine and the true cosine, according to the analysis of inner products in
 * Higham 2002, section 3.1. Every product passes through m roundings, so its relative error is at most m u / (1 - m u),
 * where u = 2^-24. The absolute values of the products sum to at most 1 for two unit vectors. The number m counts the
 * rounding of both factors, of the product, of the sums in one of four lanes, and of the sum over the lanes. One more
 * rounding accounts for everything that is computed in float64. The constant covers numbers too small for float32's
 * full precision.
 */
export function cosineTolerance(columns: number): number {
  const roundings = (Math.ceil(columns / LANES) + 6) * 2 ** -24;
  return roundings / (1 - roundings) + 1e-12;
}

function copyScaled(
  source: Float32Array | Float64Array,
  from: number,
  count: number,
  scale: number,
  target: Float32Array,
  start: number,
): void {
  // Multiplying a non-finite number by 0 would yield NaN.
  if (scale === 0) target.fill(0, start, start + count);
  else for (let c = 0; c < count; c++) target[start + c] = (source[from + c] as number) * scale;
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
  add: 0x92,
  /** Instruction that stores a float32 `offset` bytes after an address that is a multiple of 4. */
  store: (offset: number): Code => [0x38, 2, unsigned(offset)],
} as const;

const f32x4 = {
  zero: [simd(0x0c), Array.from({ length: 16 }, () => 0)] as Code,
  /** Instruction that loads four float32 numbers from an address that is a multiple of 16. */
  load: [simd(0x00), 4, 0] as Code,
  lane: (index: number): Code => [simd(0x1f), index],
  add: simd(0xe4),
  mul: simd(0xe6),
} as const;

const local = {
  get: (index: number): Code => [0x20, unsigned(index)],
  set: (index: number): Code => [0x21, unsigned(index)],
} as const;

/** Machine code that runs the body, and repeats it while the condition is true. */
function doWhile(body: Code, condition: Code): Code {
  return [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];
}

const types = { i32: 0x7f, v128: 0x7b } as const;

interface WasmFunction {
  readonly name: string;
  /** Parameters of type i32, which are the first locals. */
  readonly parameters: number;
  /** Further locals: first the i32 locals, then the vectors. */
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

/** Returns the content, preceded by its length in bytes. */
function sized(content: Code): Code {
  const bytes = flatten(content);
  return [unsigned(bytes.length), bytes];
}

/** Returns the items, preceded by their number. */
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
 * Numbers of left and right rows in a tile. The dot products of a tile are computed together. The 4 x 2 sums, 3 vectors
 * of numbers and the registers that V8 reserves fit into the 16 vector registers of x86-64. Larger tiles do not fit and
 * take twice the time.
 */
const LEFT_TILE = 4;
const RIGHT_TILE = 2;
/** Numbers per vector. */
const LANES = 4;
const VECTOR_SIZE = 16;

/**
 * The module exports `dots`, a function with seven addresses and sizes in bytes: `left, leftEnd, right, rightEnd,
 * rowSize, out, outRowSize`. For each row of numbers from `left` to `leftEnd`, the function writes the dot products
 * with all rows from `right` to `rightEnd`. The addresses and `rowSize` are multiples of 16, and the row counts are
 * multiples of the tile size.
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

/** Returns the address that is `count` rows after another address. */
function rowsFrom(start: number, size: number, count: Code): Code {
  return [local.get(start), local.get(size), count, i32.mul, i32.add];
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
