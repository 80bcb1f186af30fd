import { type FileHandle, open } from 'node:fs/promises';
import { RecalldError } from '../core/errors.ts';
import { SIGNATURE_BYTES, signatureProblem } from '../core/text/file-signature.ts';
import { malformed, quoted, type SourceLine } from '../core/text/source-line.ts';
import { lengthOf, type Matrix, rowOf } from '../math/vector/matrix.ts';
import { sourceLines, unreadable } from '../platform/files/text-file.ts';

/** The first bytes of every .npy file; the two-byte format version follows. */
const NPY_MAGIC: Buffer = Buffer.from('\x93NUMPY', 'latin1');

/** Length of the magic bytes, the version, and the longer form of the header length. */
const NPY_PREAMBLE_BYTES: number = NPY_MAGIC.length + 2 + 4;

const MAX_HEADER_BYTES = 1024 * 1024;

/**
 * Returns the position of the header text.
 *
 * @param preamble the first `NPY_PREAMBLE_BYTES` of the file, or all bytes of a shorter file
 * @throws RecalldError `file_malformed`
 */
function locateNpyHeader(preamble: Buffer, path: string) {
  if (preamble.length < NPY_PREAMBLE_BYTES) throw refused(path, TRUNCATED);
  const major = preamble[NPY_MAGIC.length] ?? 0;
  if (major < 1 || major > 3) {
    throw refused(path, `has version ${major} of the .npy format; save it in version 1, 2 or 3`);
  }
  const lengthAt = NPY_MAGIC.length + 2;
  const length = major === 1 ? preamble.readUInt16LE(lengthAt) : preamble.readUInt32LE(lengthAt);
  if (length > MAX_HEADER_BYTES) {
    throw refused(path, 'has a header longer than 1 MiB; save the array again with numpy.save');
  }
  const start = lengthAt + (major === 1 ? 2 : 4);
  return { start, end: start + length };
}

const TRUNCATED = 'is truncated; copy or save it again';

/** Parses the header, a Python dictionary literal. @throws RecalldError `file_malformed` */
function parseNpyHeader(text: string, path: string) {
  const descr = /['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|(\[.*\])\s*,\s*['"]fortran_order)/s.exec(text);
  const order = /['"]fortran_order['"]\s*:\s*(True|False)/.exec(text)?.[1];
  const shape = /['"]shape['"]\s*:\s*\(([\d\sL,]*)\)/.exec(text)?.[1];
  if (descr === null || order === undefined || shape === undefined) {
    throw refused(path, 'has an unreadable header; save the array again with numpy.save');
  }
  if (descr[1] === undefined) throw refused(path, `contains records; ${saveAs(fieldOf(descr[2] ?? ''))}`);
  const type = typeOf(descr[1]);
  if (type === null) throw refused(path, otherType(descr[1]));
  const sizes = shape.split(',').flatMap((size) => (size.trim() === '' ? [] : [Number.parseInt(size, 10)]));
  const [rows = 0, columns = 0] = sizes;
  if (sizes.length !== 2) {
    const reshaped =
      sizes.length < 2 ? 'array.reshape(1, -1), if it is one vector' : 'array.reshape(-1, array.shape[-1])';
    throw refused(
      path,
      `contains a ${sizes.length}-dimensional array; save a 2-dimensional array with one row per vector, such as ${reshaped}`,
    );
  }
  // Fortran arrays are column-major.
  return { type, isFortran: order === 'True', rows, columns };
}

function typeOf(descr: string) {
  const [, order, width] = /^([<>])f([248])$/.exec(descr) ?? [];
  return width === undefined ? null : { width: Number(width) as 2 | 4 | 8, isLittleEndian: order === '<' };
}

/** Describes how to convert an unsupported number type. Each conversion was tested with a file of its type. */
function otherType(descr: string): string {
  if (descr.endsWith('O')) {
    return `contains Python objects; ${saveAs('numpy.stack([numpy.asarray(row, "float32") for row in array])', ', allow_pickle=True')}`;
  }
  const problem = `contains numbers of the type "${descr.slice(0, 20)}"`;
  if (/^.?[iu][1248]$/.test(descr)) {
    const packed = descr.endsWith('u1')
      ? ', or numpy.unpackbits(array, axis=1).astype("float32") if they are packed bits'
      : '';
    return `${problem}; if they are scaled vectors, ${saveAs('array.astype("float32")')}${packed}`;
  }
  return /^.?[fb]/.test(descr)
    ? `${problem}; ${saveAs('array.astype("float32")')}`
    : `${problem}; write the vectors as float32 with numpy.save`;
}

/** NumPy expression that extracts the vectors from the fields of a structured array. */
function fieldOf(descr: string): string {
  const name = /\(\s*['"]([^'"]+)['"]\s*,\s*['"][^'"]+['"]\s*,\s*\(\d+,?\)\s*\)/.exec(descr)?.[1];
  return name === undefined
    ? 'numpy.stack([array[name] for name in array.dtype.names], axis=1).astype("float32")'
    : `array["${name.slice(0, 40)}"].astype("float32")`;
}

function saveAs(expression: string, options = ''): string {
  return `load it with array = numpy.load(FILE${options}) and save ${expression} with numpy.save`;
}

const BLOCK_BYTES = 1024 * 1024;

/**
 * Reads the rows of a .npy file as float32, rounding float64. Buffers one block of the file in addition to the rows.
 *
 * @throws RecalldError `file_malformed` unless the file is a complete 2-d array of float16, float32 or float64 and,
 * after conversion to float32, all values are finite and no row is zero. System errors pass through.
 */
async function readNpy(file: FileHandle, path: string): Promise<Matrix> {
  const { header, dataStart } = await readHeader(file, path);
  const { rows, columns, isFortran } = header;
  const { width, isLittleEndian } = header.type;
  const bytes = rows * columns * width;
  const { size } = await file.stat();
  if (rows === 0 || columns === 0) throw refused(path, 'contains no vectors; add at least one row');
  if (rows * columns > MAX_NUMBERS) {
    throw refused(path, 'contains more than 1,073,741,824 numbers; use a sample of its rows');
  }
  if (size < dataStart + bytes) throw refused(path, TRUNCATED);
  if (size > dataStart + bytes) {
    throw refused(path, 'has data after its array; save one array per file');
  }
  const data = new Float32Array(rows * columns);
  const block = Buffer.allocUnsafe(Math.min(bytes, BLOCK_BYTES));
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  let filled = 0;
  for (let done = 0; done < bytes; ) {
    const length = Math.min(block.length, bytes - done);
    if ((await readFully(file, block, length, dataStart + done)) < length) throw refused(path, TRUNCATED);
    for (let at = 0; at < length; at += width, filled++) {
      const place = isFortran ? (filled % rows) * columns + Math.floor(filled / rows) : filled;
      if (width === 4) data[place] = view.getFloat32(at, isLittleEndian);
      else if (width === 8) data[place] = view.getFloat64(at, isLittleEndian);
      else data[place] = halfToNumber(view.getUint16(at, isLittleEndian));
    }
    done += length;
  }
  const matrix = { rows, columns, data };
  const bad = firstBadRow(matrix, 0);
  if (bad !== null) throw refused(path, describeBadRows(matrix, bad));
  return matrix;
}

/** Converts float16 bits (IEEE 754 binary16) to a number. */
function halfToNumber(bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function describeBadRows(matrix: Matrix, first: BadRow): string {
  let count = 0;
  for (let bad: BadRow | null = first; bad !== null; bad = firstBadRow(matrix, bad.row + 1)) count++;
  const rows = count === 1 ? '1 row' : `${count} rows`;
  return (
    `has ${rows} without a direction; the first is row ${first.row} (counted from 0): ${WHAT[first.is]}. Remove them ` +
    '(and their lines in the sessions file): array = numpy.load(FILE).astype("float32"); length = ' +
    'numpy.linalg.norm(array, axis=1); numpy.save("clean.npy", array[numpy.isfinite(length) & (length > 0)])'
  );
}

async function readHeader(file: FileHandle, path: string) {
  const preamble = Buffer.alloc(NPY_PREAMBLE_BYTES);
  const got = await readFully(file, preamble, preamble.length, 0);
  const place = locateNpyHeader(preamble.subarray(0, got), path);
  const text = Buffer.alloc(place.end - place.start);
  if ((await readFully(file, text, text.length, place.start)) < text.length) throw refused(path, TRUNCATED);
  return { header: parseNpyHeader(text.toString('utf8'), path), dataStart: place.end };
}

/** @returns the number of bytes read: fewer than `length` at the end of the file */
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

/** Maximum number of values in a file: 4 GiB of float32. */
const MAX_NUMBERS: number = 2 ** 30;

type BadRow = NonNullable<ReturnType<typeof firstBadRow>>;

/** Returns the first row without a direction, at or after `start`: a zero vector, or a row with NaN or infinity. */
function firstBadRow(matrix: Matrix, start: number) {
  for (let row = start; row < matrix.rows; row++) {
    const length = lengthOf(rowOf(matrix, row));
    if (length === 0) return { row, is: 'zero' as const };
    if (!Number.isFinite(length)) return { row, is: 'not_finite' as const };
  }
  return null;
}

const WHAT: Readonly<Record<BadRow['is'], string>> = {
  zero: 'a zero vector, which has no direction',
  not_finite: 'NaN, or a number too large for float32',
};

/**
 * Reads the vectors of a file, one per row. The file is either .npy (2-d; float16, float32 or float64), detected by its
 * signature, or JSONL with one array of numbers per line. Returns float32 rows. All values are finite, and no row is a
 * zero vector.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the row or line
 */
export async function readVectors(path: string): Promise<Matrix> {
  return (await readIfNpy(path)) ?? (await readVectorLines(path));
}

/** Returns null if the file is not a .npy file. Reads nothing from a pipe, because a pipe cannot be read twice. */
async function readIfNpy(path: string): Promise<Matrix | null> {
  try {
    const file = await open(path);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return null;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(SIGNATURE_BYTES), 0, SIGNATURE_BYTES, 0);
      if (buffer.subarray(0, Math.min(bytesRead, NPY_MAGIC.length)).equals(NPY_MAGIC)) return await readNpy(file, path);
      const problem = signatureProblem(buffer.subarray(0, bytesRead));
      if (problem !== null) throw refused(path, problem);
      if (!path.endsWith('.npy')) return null;
      throw refused(path, 'is not a .npy file; save it with numpy.save, or rename it if it is a JSONL file');
    } finally {
      await file.close();
    }
  } catch (cause) {
    // Only system errors name a system call.
    throw cause instanceof Error && 'syscall' in cause ? unreadable(path, cause) : cause;
  }
}

const FIRST_CAPACITY = 2 ** 18;

/**
 * Reads JSON arrays of numbers, one per line, as float32 rows. Skips empty lines. Buffers only a part of the file in
 * addition to the rows.
 *
 * @throws RecalldError `file_unreadable`; `file_malformed`, naming the line that is not a vector, differs in length
 *   from the first vector, is a zero vector, or contains a value that is not finite
 */
async function readVectorLines(path: string): Promise<Matrix> {
  let columns = 0;
  let rows = 0;
  let data = new Float32Array(0);
  let firstLine = 0;
  for await (const lines of sourceLines(path)) {
    for (const line of lines) {
      if (line.text.trim() === '') continue;
      const vector = parseVector(line);
      if (rows === 0) {
        columns = vector.length;
        firstLine = line.line;
        data = new Float32Array(Math.max(FIRST_CAPACITY, columns));
      }
      if (vector.length !== columns) {
        throw malformed(
          line,
          `has ${numbers(vector.length)}, but line ${firstLine} has ${columns}; all lines must have the same length`,
        );
      }
      const needed = (rows + 1) * columns;
      if (needed > MAX_NUMBERS) {
        throw malformed(line, 'exceeds 1,073,741,824 numbers in total; use a sample of the lines');
      }
      if (needed > data.length) data = grown(data);
      data.set(vector, rows * columns);
      const bad = firstBadRow({ rows: rows + 1, columns, data }, rows);
      if (bad !== null) throw malformed(line, `has ${WHAT[bad.is]}; remove it`);
      rows++;
    }
  }
  if (rows === 0) {
    throw refused(path, 'contains no vectors; write one JSON array on each line');
  }
  return { rows, columns, data: data.subarray(0, rows * columns) };
}

function parseVector(line: SourceLine): readonly number[] {
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    const problem = /\b(NaN|Infinity)\b/.test(line.text)
      ? 'has NaN or an infinity; remove it'
      : 'is not a single complete JSON array; write a vector such as [0.1, 0.2] on each line';
    throw malformed(line, problem);
  }
  if (!isVector(value)) {
    const key = keyOfVector(value);
    if (key !== null) throw malformed(line, `is an object; write only its array ${quoted(key)} on each line`);
    throw malformed(line, 'is not a JSON array of numbers; write a vector such as [0.1, 0.2] on each line');
  }
  return value;
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'number');
}

function keyOfVector(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return Object.entries(value).find(([, own]) => isVector(own))?.[0] ?? null;
}

function grown(data: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const larger = new Float32Array(Math.min(MAX_NUMBERS, data.length * 2));
  larger.set(data);
  return larger;
}

function numbers(count: number): string {
  return count === 1 ? '1 number' : `${count} numbers`;
}

/**
 * Reads the session names for the rows of a vector file from a text file with one name per line. Sessions are numbered
 * from 0 in the order of their first rows.
 *
 * @throws RecalldError `file_unreadable`; `file_malformed` for an empty line before the last name
 */
export async function readSessions(path: string): Promise<Uint32Array> {
  const numbers = new Map<string, number>();
  const sessions: number[] = [];
  let firstEmpty: SourceLine | null = null;
  for await (const lines of sourceLines(path)) {
    for (const line of lines) {
      const name = line.text.trim();
      if (name === '') {
        firstEmpty ??= line;
        continue;
      }
      if (firstEmpty !== null) throw malformed(firstEmpty, 'is empty; write one session name per line');
      const number = numbers.get(name) ?? numbers.size;
      numbers.set(name, number);
      sessions.push(number);
    }
  }
  return Uint32Array.from(sessions);
}
