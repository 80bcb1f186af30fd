import { open } from 'node:fs/promises';
import { RecalldError } from '../errors.ts';
import { sourceLines } from '../files/source-lines.ts';
import { unreadable } from '../files/text-file.ts';
import { malformed, type SourceLine } from '../text/source-line.ts';
import type { Matrix } from '../vector/matrix.ts';
import { describeBadRow, firstBadRow, MAX_NUMBERS, NPY_MAGIC, readNpy } from './npy-file.ts';

/**
 * The vectors of a file, one per row: NumPy's .npy (2-d, float32 or float64, C order), told by its first bytes, else
 * JSONL with one array of numbers on each line. Rows are float32; each has a direction.
 *
 * @throws RecalldError `file_unreadable` or `file_malformed`, naming the file and the row or line
 */
export async function readVectors(path: string): Promise<Matrix> {
  const fromNpy = await readIfNpy(path);
  return fromNpy ?? (await readVectorLines(path));
}

/** Null when the file is none. A pipe is not touched: it could not be read a second time. */
async function readIfNpy(path: string): Promise<Matrix | null> {
  try {
    const file = await open(path);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return null;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(NPY_MAGIC.length), 0, NPY_MAGIC.length, 0);
      if (buffer.subarray(0, bytesRead).equals(NPY_MAGIC)) return await readNpy(file, path);
      if (!path.endsWith('.npy')) return null;
      throw new RecalldError(
        'file_malformed',
        `${path} does not begin as a .npy file does; save it with numpy.save, or name a JSONL file otherwise.`,
      );
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof RecalldError || !isSystemError(cause)) throw cause;
    throw unreadable(path, cause);
  }
}

function isSystemError(cause: unknown): boolean {
  return cause instanceof Error && 'syscall' in cause;
}

const FIRST_CAPACITY = 2 ** 18;

/**
 * The rows of a file with one JSON array of numbers on each line, as float32. Empty lines are skipped. Beside the rows
 * only a piece of the file is in memory.
 *
 * @throws RecalldError `file_unreadable`; `file_malformed`, naming the line that is no vector, has another length than
 * the first, or has no direction
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
          `has ${numbers(vector.length)} where line ${firstLine} has ${columns}; give every line as many`,
        );
      }
      const needed = (rows + 1) * columns;
      if (needed > MAX_NUMBERS) {
        throw malformed(line, 'is past 1,073,741,824 numbers in all; take a sample of the lines');
      }
      if (needed > data.length) data = grown(data);
      data.set(vector, rows * columns);
      const bad = firstBadRow({ rows: rows + 1, columns, data }, rows);
      if (bad !== null) throw malformed(line, `has ${describeBadRow(bad)}`);
      rows++;
    }
  }
  if (rows === 0) {
    throw new RecalldError('file_malformed', `${path} holds no vectors; give one JSON array on each line.`);
  }
  return { rows, columns, data: data.subarray(0, rows * columns) };
}

function parseVector(line: SourceLine): readonly number[] {
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    const problem = /\b(NaN|Infinity)\b/.test(line.text)
      ? 'has NaN or an infinity; leave it out'
      : 'is not one complete JSON array; write a vector such as [0.1, 0.2] on each line';
    throw malformed(line, problem);
  }
  if (!isVector(value)) {
    throw malformed(line, 'is no JSON array of numbers; write a vector such as [0.1, 0.2] on each line');
  }
  return value;
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'number');
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
 * The session of each row of a vector file: one name on each line, in the order of the rows. Numbered from 0 in the
 * order of their first row.
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
      if (firstEmpty !== null) throw malformed(firstEmpty, 'names no session; write one on each line');
      const number = numbers.get(name) ?? numbers.size;
      numbers.set(name, number);
      sessions.push(number);
    }
  }
  return Uint32Array.from(sessions);
}
