import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readVectors } from '../../../../src/density/vector-files.ts';
import type { Matrix } from '../../../../src/math/vector/matrix.ts';
import { npyBytes } from '../../../support/npy.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../fixtures/vectors/${name}.npy`, import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-vectors-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function read(name: string, content: string | Buffer): Promise<Matrix> {
  const path = join(folder, name);
  await writeFile(path, content);
  return readVectors(path);
}

async function refusal(name: string, content: string | Buffer): Promise<string> {
  const error: unknown = await read(name, content).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: 'file_malformed', kind: 'input' });
  return error instanceof Error ? error.message.replace(`${folder}/`, '') : '';
}

const rowsOf = ({ rows, columns, data }: Matrix): number[][] =>
  Array.from({ length: rows }, (_, row) => [...data.subarray(row * columns, (row + 1) * columns)]);

/** Rows of float32 numbers, possibly all zero; `withDirection` sets the first number of each row to 1. */
const someVectors = fc.integer({ min: 1, max: 5 }).chain((columns) =>
  fc.array(
    fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), {
      minLength: columns,
      maxLength: columns,
    }),
    { minLength: 1, maxLength: 8 },
  ),
);
const withDirection = (rows: readonly (readonly number[])[]): number[][] => rows.map(([, ...rest]) => [1, ...rest]);

describe('a .npy file', () => {
  it.each(['float32-v1', 'float32-v2', 'float32-v3', 'float64-v1', 'float64-v2', 'float64-v3'])(
    'that NumPy wrote is read: %s',
    async (name) => {
      expect(rowsOf(await readVectors(fixture(name)))).toEqual([
        [1.5, -2, 0.25],
        [0, 3, 4],
      ]);
    },
  );

  it('returns the rows from which it was written', async () => {
    await fc.assert(
      fc.asyncProperty(
        someVectors.map(withDirection),
        fc.constantFrom('<f4' as const, '<f8' as const),
        async (rows, type) => {
          expect(rowsOf(await read('some.npy', npyBytes(rows, type)))).toEqual(rows);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is read completely if it is larger than a block', async () => {
    const rows = Array.from({ length: 700 }, (_, row) => Array.from({ length: 500 }, (_, i) => row + i + 1));
    expect(rowsOf(await read('large.npy', npyBytes(rows)))).toEqual(rows);
  });

  it('is detected by its content, whatever its name', async () => {
    expect(rowsOf(await read('vectors.bin', npyBytes([[1, 2]])))).toEqual([[1, 2]]);
  });

  it.each(['fortran', 'big-endian', 'float16'])('is read in another number format or order: %s', async (name) => {
    expect(rowsOf(await readVectors(fixture(name)))).toEqual([
      [1.5, -2, 0.25],
      [0, 3, 4],
    ]);
  });

  it.each([
    ['int64', 'contains numbers of the type "<i8"; if they are scaled vectors, load it with'],
    ['int8', 'contains numbers of the type "|i1"; if they are scaled vectors, load it with'],
    ['objects-2d', 'contains Python objects; load it with array = numpy.load(FILE, allow_pickle=True)'],
    [
      'objects',
      'contains Python objects; load it with array = numpy.load(FILE, allow_pickle=True) and save numpy.stack(',
    ],
    ['records', 'contains records; load it with array = numpy.load(FILE) and save'],
    ['one-dimension', 'contains a 1-dimensional array; save a 2-dimensional array with one row per vector,'],
    ['three-dimensions', 'contains a 3-dimensional array;'],
    ['no-rows', 'contains no vectors; add at least one row.'],
  ])('is rejected with an explanation: %s', async (name, message) => {
    const path = fixture(name);
    await expect(readVectors(path)).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`${path} ${message}`),
    });
  });

  it('is rejected if it is truncated at any position', async () => {
    const whole = npyBytes([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    for (let length = 6; length < whole.length; length++) {
      expect(await refusal('cut.npy', whole.subarray(0, length))).toBe('cut.npy is truncated; copy or save it again.');
    }
    expect(await refusal('cut.npy', whole.subarray(0, 5))).toContain('is not a .npy file');
  });

  it('is rejected if its header claims more numbers than it contains', async () => {
    const claims = (shape: string): Buffer => {
      const bytes = npyBytes([[1, 2]]);
      const at = bytes.indexOf('(1, 2), }');
      bytes.write(`${shape}, }`.padEnd(40), at);
      return bytes;
    };
    expect(await refusal('claims.npy', claims('(100000, 10000)'))).toContain('is truncated');
    expect(await refusal('claims.npy', claims('(999999999999, 999999)'))).toContain(
      'contains more than 1,073,741,824 numbers',
    );
  });

  it.each([
    ['with another version', (bytes: Buffer) => bytes.fill(4, 6, 7), 'has version 4 of the .npy format'],
    ['with a garbled header', (bytes: Buffer) => bytes.fill('x', 11, 30), 'has an unreadable header'],
    ['with more than one array', (bytes: Buffer) => Buffer.concat([bytes, bytes]), 'has data after its array'],
    [
      'with a header of a gigabyte',
      (bytes: Buffer) => bytes.fill(2, 6, 7).fill(0x40, 8, 12),
      'has a header longer than 1 MiB',
    ],
  ])('is rejected %s', async (_what, spoil, message) => {
    expect(await refusal('spoilt.npy', spoil(npyBytes([[1, 2, 3]])))).toContain(`spoilt.npy ${message}`);
  });

  it('is rejected with NaN, with a number beyond float32, and with a zero vector, naming the row', async () => {
    expect(
      await refusal(
        'bad.npy',
        npyBytes([
          [1, 2],
          [Number.NaN, 1],
        ]),
      ),
    ).toEqual(
      expect.stringMatching(/^bad\.npy has 1 row without a direction; the first is row 1 \(counted from 0\): NaN/),
    );
    expect(await refusal('bad.npy', npyBytes([[1e300, 2]], '<f8'))).toContain('row 0');
    expect(
      await refusal(
        'bad.npy',
        npyBytes([
          [1, 2],
          [0, 0],
          [0, 0],
        ]),
      ),
    ).toEqual(expect.stringMatching(/^bad\.npy has 2 rows without a direction; the first is row 1 .*: a zero vector/));
  });
});

describe('a JSONL file of arrays', () => {
  it('returns the rows from which it was written, whatever the line endings', async () => {
    await fc.assert(
      fc.asyncProperty(someVectors.map(withDirection), fc.constantFrom('\n', '\r\n', '\n\n'), async (rows, end) => {
        const text = rows.map((row) => JSON.stringify(row)).join(end);
        expect(rowsOf(await read('some.jsonl', text))).toEqual(
          // JSON cannot represent -0.
          rows.map((row) => row.map((value) => value + 0)),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('is read completely if it is larger than a block and the initial buffer', async () => {
    const rows = Array.from({ length: 3000 }, (_, row) => Array.from({ length: 200 }, (_, i) => row + i + 1));
    expect(rowsOf(await read('large.jsonl', rows.map((row) => JSON.stringify(row)).join('\n')))).toEqual(rows);
  });

  it.each([
    ['of another length', '[1, 2, 3]', 'has 3 numbers, but line 1 has 2; all lines must have the same length.'],
    [
      'that is truncated',
      '[1, 2',
      'is not a single complete JSON array; write a vector such as [0.1, 0.2] on each line.',
    ],
    ['that contains NaN', '[NaN, 1.0]', 'has NaN or an infinity; remove it.'],
    [
      'that contains a number too large for float32',
      '[1e39, 1]',
      'has NaN, or a number too large for float32; remove it.',
    ],
    ['that is a zero vector', '[0, 0.0]', 'has a zero vector, which has no direction; remove it.'],
    ['that is an object', '{"embedding": [1, 2]}', 'is an object; write only its array "embedding" on each line.'],
    ['that contains a string', '["1", 2]', 'is not a JSON array of numbers;'],
    ['that contains null', '[null, 2]', 'is not a JSON array of numbers;'],
    ['that is empty', '[]', 'is not a JSON array of numbers;'],
  ])('is rejected for a line %s', async (_what, line, message) => {
    expect(await refusal('bad.jsonl', `[1, 2]\n\n${line}\n[3, 4]\n`)).toContain(`Line 3 of bad.jsonl ${message}`);
  });

  it('is rejected if it has no rows', async () => {
    for (const content of ['', '\n\n']) {
      expect(await refusal('empty.jsonl', content)).toBe(
        'empty.jsonl contains no vectors; write one JSON array on each line.',
      );
    }
  });
});

describe('a path', () => {
  it('to a missing file or a folder is rejected', async () => {
    for (const name of ['nowhere.npy', 'nowhere.jsonl']) {
      await expect(readVectors(join(folder, name))).rejects.toMatchObject({
        code: 'file_unreadable',
        message: `${join(folder, name)} does not exist; check the path.`,
      });
    }
    await expect(readVectors(folder)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: `${folder} is a folder; specify a file.`,
    });
  });
});
