import { RecalldError } from '../../../core/errors.ts';
import { malformed, type SourceLine } from '../../../core/golden/source-line.ts';
import type { Matrix } from '../../../core/vector/matrix.ts';
import { sourceLines } from '../source-lines.ts';
import { describeBadRow, firstBadRow, MOST_NUMBERS } from './vector-rows.ts';

const FIRST_CAPACITY = 2 ** 18;

/**
 * The rows of a file with one JSON array of numbers on each line, as float32. Empty lines are skipped. Beside the rows
 * only a piece of the file is in memory.
 *
 * @throws RecalldError `file_unreadable`; `file_malformed`, naming the line that is no vector, has another length than
 * the first, or has no direction
 */
export async function readVectorLines(path: string): Promise<Matrix> {
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
      if (needed > MOST_NUMBERS) {
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
  const larger = new Float32Array(Math.min(MOST_NUMBERS, data.length * 2));
  larger.set(data);
  return larger;
}

function numbers(count: number): string {
  return count === 1 ? '1 number' : `${count} numbers`;
}
