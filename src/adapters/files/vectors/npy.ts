import type { FileHandle } from 'node:fs/promises';
import { RecalldError } from '../../../core/errors.ts';
import type { Matrix } from '../../../core/vector/matrix.ts';
import {
  locateNpyHeader,
  NPY_PREAMBLE_BYTES,
  type NpyHeader,
  parseNpyHeader,
  TRUNCATED,
} from './npy-header.ts';
import { describeBadRow, firstBadRow, MOST_NUMBERS } from './vector-rows.ts';

const BLOCK_BYTES = 1024 * 1024;

/**
 * The rows of a .npy file, as float32; float64 is rounded to it. Beside the rows only a block of the file is in memory.
 *
 * @throws RecalldError `file_malformed` for what is no 2-d array of float32 or float64 in C order and little-endian,
 * or ends early, or has a row without direction. An error of the system passes through.
 */
export async function readNpy(file: FileHandle, path: string): Promise<Matrix> {
  const { header, dataStart } = await readHeader(file, path);
  const { rows, columns, type } = header;
  const width = type === 'float32' ? 4 : 8;
  const bytes = rows * columns * width;
  const { size } = await file.stat();
  if (rows === 0 || columns === 0) throw refused(path, 'holds no vectors; give at least one row');
  if (rows * columns > MOST_NUMBERS) {
    throw refused(path, 'holds more than 1,073,741,824 numbers; take a sample of its rows');
  }
  if (size < dataStart + bytes) throw refused(path, TRUNCATED);
  if (size > dataStart + bytes) {
    throw refused(path, 'goes on after its array; save one array in each file');
  }
  const data = new Float32Array(rows * columns);
  const block = Buffer.allocUnsafe(Math.min(bytes, BLOCK_BYTES));
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  let filled = 0;
  for (let done = 0; done < bytes; ) {
    const length = Math.min(block.length, bytes - done);
    if ((await readFully(file, block, length, dataStart + done)) < length) throw refused(path, TRUNCATED);
    for (let at = 0; at < length; at += width) {
      data[filled++] = width === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true);
    }
    done += length;
  }
  const matrix = { rows, columns, data };
  const bad = firstBadRow(matrix, 0);
  if (bad !== null) throw refused(path, `has in row ${bad.row} (the first is 0) ${describeBadRow(bad)}`);
  return matrix;
}

async function readHeader(
  file: FileHandle,
  path: string,
): Promise<{ readonly header: NpyHeader; readonly dataStart: number }> {
  const preamble = Buffer.alloc(NPY_PREAMBLE_BYTES);
  const got = await readFully(file, preamble, preamble.length, 0);
  const place = locateNpyHeader(preamble.subarray(0, got));
  if ('problem' in place) throw refused(path, place.problem);
  const text = Buffer.alloc(place.end - place.start);
  if ((await readFully(file, text, text.length, place.start)) < text.length) throw refused(path, TRUNCATED);
  const header = parseNpyHeader(text.toString('utf8'));
  if ('problem' in header) throw refused(path, header.problem);
  return { header, dataStart: place.end };
}

/** Reads until `length` bytes are there or the file ends, and tells how many there are. */
async function readFully(file: FileHandle, target: Buffer, length: number, from: number): Promise<number> {
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(target, filled, length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function refused(path: string, problem: string): RecalldError {
  return new RecalldError('file_malformed', `${path} ${problem}.`);
}
