/**
 * Cosines of many pairs of vectors in float32, by WebAssembly with SIMD. They serve to leave out most pairs before the
 * rest is computed in float64: their distance from the true cosine has a strict limit.
 */
import { dotProductModule, LANES, LEFT_TILE, RIGHT_TILE } from './dot-product-module.ts';

/** What of WebAssembly is used here; every supported version of Node has it, with SIMD. */
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

/** Vectors to take cosines of. */
export interface DirectionRows {
  readonly columns: number;
  /** Row-major. */
  readonly data: Float32Array | Float64Array;
}

export interface CosineBlocks {
  /** The largest distance of a computed cosine from the true one. */
  readonly tolerance: number;
  /** Numbers from the start of one row of cosines to the next. */
  readonly stride: number;
  /**
   * Copies rows [from, to) to the left block.
   *
   * @param scales 1 / length of each row; with 0, all its cosines are 0
   */
  setLeft(rows: DirectionRows, from: number, to: number, scales: Float64Array): void;
  setRight(rows: DirectionRows, from: number, to: number, scales: Float64Array): void;
  /**
   * The cosines of rows [from, to) of the left block with all rows of the right one: row-major, `stride` numbers a row,
   * of which those beyond the last right row mean nothing. Holds until the next call.
   *
   * @param from a multiple of 4
   */
  cosines(from: number, to: number): Float32Array;
}

interface Kernel {
  readonly memory: InstanceType<(typeof WebAssembly)['Memory']>;
  readonly dots: Dots;
}

/** One for each thread, since every memory of WebAssembly reserves gigabytes of addresses. */
let kernel: Kernel | undefined;

/**
 * Space for two blocks of rows. There is one for the whole thread: the next call of this function takes it away.
 *
 * @param leftRows the most rows of the left block
 * @param rightRows the most rows of the right block
 */
export function cosineBlocks(columns: number, leftRows: number, rightRows: number): CosineBlocks {
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
    tolerance: cosineTolerance(columns),
    stride,
    setLeft(rows, from, to, scales) {
      copy(0, LEFT_TILE, rows, from, to, scales);
    },
    setRight(rows, from, to, scales) {
      rightEnd = copy(rightStart, RIGHT_TILE, rows, from, to, scales);
    },
    cosines(from, to) {
      const leftEnd = roundUp(to, LEFT_TILE) * rowSize;
      if (to > from && rightEnd > rightStart) {
        dots(from * rowSize, leftEnd, rightStart, rightEnd, rowSize, outStart, stride * FLOAT_SIZE);
      }
      return floats.subarray(outStart / FLOAT_SIZE, outStart / FLOAT_SIZE + (to - from) * stride);
    },
  };
}

/**
 * The largest distance of a cosine in float32 from the true one, by the analysis of inner products in Higham 2002,
 * section 3.1: every product passes through m roundings, so its relative error is at most m u / (1 - m u), u = 2^-24, and
 * the absolute products of two unit vectors sum to 1 at most. m counts the rounding of both factors, of the product, of
 * the sums in one of four lanes, and of the sum of the lanes; one more stands for all that is computed in float64. The
 * constant covers numbers too small for float32's full precision.
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
  // Times 0, what is not finite would be NaN.
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
