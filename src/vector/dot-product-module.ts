/** Dot products of many pairs of rows in float32, as a module of WebAssembly with SIMD. */
import { type Code, doWhile, f32, f32x4, i32, local, wasmModule } from './wasm-code.ts';

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
        return [
          local.get(sum),
          local.get(leftVector),
          local.get(vector),
          f32x4.mul,
          f32x4.add,
          local.set(sum),
        ];
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
