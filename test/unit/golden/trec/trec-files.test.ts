import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QueryRows } from '../../../../src/golden/trec/document-rows.ts';
import type { ResultTable } from '../../../../src/golden/trec/result-table.ts';
import { readRunInBatches } from '../../../../src/golden/trec/run-file.ts';
import type { JudgmentTable } from '../../../../src/golden/trec/tables.ts';
import { readQrels } from '../../../../src/golden/trec/trec-files.ts';
import type { ScoredDocuments } from '../../../../src/ir/ranking.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-trec-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function fileOf(content: string | Buffer, name = 'file.txt'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function qrelsOf(content: string | Buffer): Promise<Record<string, Record<string, number>>> {
  const judgments = await readQrels(await fileOf(content));
  return Object.fromEntries([...judgments.queries].map(([id, query]) => [id, gradesOf(judgments, query)]));
}

function gradesOf(judgments: JudgmentTable, { ranges }: QueryRows): Record<string, number> {
  const grades: Record<string, number> = {};
  for (let i = 0; i < ranges.length; i += 2) {
    for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) {
      grades[judgments.documents.text(row)] = judgments.gradeOf(row);
    }
  }
  expect(judgments.gradesOf({ ranges })).toEqual(Float64Array.from(Object.values(grades)));
  return grades;
}

describe('readQrels', () => {
  it.each([
    ['spaces', 'q1 0 a 1\nq1 0 b 0\nq2 0 a 3\n'],
    ['tabs and runs of blanks', 'q1\t0\ta\t1\n  q1  0 \t b  0 \nq2 0 a 3\n'],
    ['Windows line ends', 'q1 0 a 1\r\nq1 0 b 0\r\nq2 0 a 3\r\n'],
    ['no line feed at the end', 'q1 0 a 1\nq1 0 b 0\nq2 0 a 3'],
    ['a byte order mark', '\ufeffq1 0 a 1\nq1 0 b 0\nq2 0 a 3\n'],
    ['empty lines and comments', '# judged in May\n\nq1 0 a 1\n \t\nq1 0 b 0\n#q9 0 z 1\nq2 0 a 3\n\n'],
    ['queries that are not together', 'q1 0 a 1\nq2 0 a 3\nq1 0 b 0\n'],
    ['the header of BEIR', 'query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq2\ta\t3\n'],
    ['the header of BEIR and Windows line ends', 'query-id\tcorpus-id\tscore\r\nq1\ta\t1\r\nq1\tb\t0\r\nq2\ta\t3\r\n'],
  ])('reads a file with %s', async (_what, content) => {
    expect(await qrelsOf(content)).toEqual({ q1: { a: 1, b: 0 }, q2: { a: 3 } });
  });

  it('keeps negative grades, which mean not judged', async () => {
    expect(await qrelsOf('q 0 a -1\nq 0 b -2\n')).toEqual({ q: { a: -1, b: -2 } });
  });

  it('keeps spaces within the ids of a BEIR file, and an id that starts with #', async () => {
    expect(await qrelsOf('query-id\tcorpus-id\tscore\n#1\tdoc one\t1\n')).toEqual({ '#1': { 'doc one': 1 } });
  });

  it.each([
    [
      'too few columns',
      'q 0 a 1\nq 0 b\n',
      'line 2: A judgment needs the 4 columns "query-id iteration document-id grade", but the line has 3.',
    ],
    [
      'too many columns',
      'q 0 a 1 x\n',
      'line 1: A judgment needs the 4 columns "query-id iteration document-id grade", but the line has 5.',
    ],
    ['three columns without the header of BEIR', 'q\ta\t1\n', 'line 1: A judgment needs the 4 columns'],
    [
      'four columns below the header of BEIR',
      'query-id\tcorpus-id\tscore\nq\t0\ta\t1\n',
      'line 2: A judgment needs the 3 columns "query-id corpus-id score", but the line has 4.',
    ],
    [
      'a fraction as grade',
      'q 0 a 1\n\nq 0 b 1.7\n',
      'line 3: The grade "1.7" is not an integer; write a whole number such as 0, 1 or 2.',
    ],
    ['a word as grade', 'q 0 a relevant\n', 'line 1: The grade "relevant" is not an integer'],
    [
      'a document judged twice',
      'q 0 a 1\nr 0 a 1\n\nr 0 b 1\nq 0 a 1\nr 0 b 1\n',
      'line 5: The document "a" is judged twice for the query "q"; keep one judgment.',
    ],
    [
      'line ends of old Macintosh files',
      'q 0 a 1\rq 0 b 1\r',
      'line 1: A judgment needs the 4 columns "query-id iteration document-id grade", but a carriage return stands inside the line; end lines with a line feed.',
    ],
  ])('refuses %s, naming the line', async (_what, content, message) => {
    await expect(qrelsOf(content)).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`${join(folder, 'file.txt')}, ${message}`),
    });
  });

  it.each([
    ['an empty file', ''],
    ['a byte order mark alone', '\ufeff'],
    ['comments alone', '# nothing\n\n'],
    ['a BEIR header alone', 'query-id\tcorpus-id\tscore\n'],
  ])('refuses %s', async (_what, content) => {
    await expect(qrelsOf(content)).rejects.toMatchObject({
      code: 'file_malformed',
      message: `${join(folder, 'file.txt')} holds no judgments; it needs lines of "query-id iteration document-id grade".`,
    });
  });
});

/** What all batches of a run hold, by query. */
async function readRun(path: string, results = Number.POSITIVE_INFINITY): Promise<Map<string, ScoredDocuments>> {
  const run = new Map<string, ScoredDocuments>();
  await readRunInBatches(path, {
    results,
    handle(batch) {
      for (const id of batch.queryIds) {
        const { ids = [], scores = [] } = run.get(id) ?? {};
        const more = batch.get(id);
        run.set(id, { ids: [...ids, ...(more?.ids ?? [])], scores: [...scores, ...(more?.scores ?? [])] });
      }
    },
  });
  return run;
}

describe('readRunInBatches', () => {
  it('reads documents with their scores in the order of the file, repeats included', async () => {
    const run = await readRun(await fileOf('q1 Q0 b 7 0.5 t\nq2 Q0 a 1 1e0 t\nq1 Q0 a 1 .25 t\nq1 Q0 b 2 -3 t\n'));
    expect(run.size).toBe(2);
    expect(run.get('q1')).toEqual({ ids: ['b', 'a', 'b'], scores: [0.5, 0.25, -3] });
    expect(run.get('q2')).toEqual({ ids: ['a'], scores: [1] });
    expect(run.get('q3')).toBeUndefined();
  });

  it.each([
    ['without tag', 'q Q0 a 1 2\n'],
    ['with words behind the tag', 'q Q0 a 1 2 my run tag\n'],
    ['with tabs and a carriage return', 'q\tQ0\ta\t1\t2\ttag\r\n'],
    ['with a comment above', '# run of May\nq Q0 a 1 2 t'],
  ])('reads a line %s', async (_what, content) => {
    expect((await readRun(await fileOf(content))).get('q')).toEqual({ ids: ['a'], scores: [2] });
  });

  it.each([
    [
      'too few columns',
      'q Q0 a 1 2 t\nq a 1 2\n',
      'line 2: A result needs the 6 columns "query-id Q0 document-id rank score tag", but the line has 4.',
    ],
    [
      'a word as score',
      'q Q0 a 1 high t\n',
      'line 1: The score "high" in column 5 is not a finite decimal number; write it as 12.5 or 1e-3.',
    ],
    ['NaN as score', 'q Q0 a 1 nan t\n', 'line 1: The score "nan" in column 5 is not'],
    ['infinity as score', 'q Q0 a 1 -inf t\n', 'line 1: The score "-inf" in column 5 is not'],
    ['a score that no double can hold', 'q Q0 a 1 1e999 t\n', 'line 1: The score "1e999" in column 5 is not'],
    ['control characters, shown as escapes', 'q Q0 a 1 \u001b[31m t\n', 'line 1: The score "\\u001b[31m" in column 5'],
  ])('refuses %s, naming the line', async (_what, content, message) => {
    await expect(readRun(await fileOf(content))).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`${join(folder, 'file.txt')}, ${message}`),
    });
  });

  it('refuses an empty file', async () => {
    await expect(readRun(await fileOf(''))).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining('holds no results'),
    });
  });

  it('refuses a file that is not UTF-8 text, naming the line', async () => {
    const good = 'q Q0 a 1 1 t\n';
    for (const bad of [Buffer.from('q Q0 caf\xe9 1 1 t\n', 'latin1'), Buffer.from('q Q0 a\0 1 1 t\n')]) {
      await expect(
        readRun(await fileOf(Buffer.concat([Buffer.from(good), bad, Buffer.from(good)]))),
      ).rejects.toMatchObject({
        code: 'file_malformed',
        message: expect.stringMatching(/, line 2: This is not UTF-8 text; unpack the file or convert it to UTF-8\.$/),
      });
    }
    await expect(readRun(await fileOf(Buffer.from(good, 'utf16le')))).rejects.toThrow('line 1: This is not UTF-8 text');
  });

  it('refuses a line that is longer than a block', async () => {
    await expect(readRun(await fileOf(`q Q0 a 1 1 t\n${'x'.repeat(600_000)}`))).rejects.toThrow(
      'line 2: The line is longer than 512 KiB',
    );
  });

  it('says how a path that cannot be read is wrong', async () => {
    await expect(readRun(join(folder, 'absent.txt'))).rejects.toMatchObject({
      code: 'file_unreadable',
      message: `${join(folder, 'absent.txt')} does not exist; check the path.`,
    });
    await expect(readQrels(folder)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: `${folder} is a folder; name a file.`,
    });
  });

  it('reads files of many blocks whose characters and lines lie across the block ends', async () => {
    // Ids of 1 to 4 bytes per character, in stretches so that some blocks are ASCII and others not.
    const alphabet = ['d', 'é', '～', '😀'];
    const rows = Array.from({ length: 60_000 }, (_, i) => ({
      query: `q${Math.floor(i / 7) % 5000}`,
      id: `${alphabet[Math.floor(i / 15_000)]}${i}`,
      score: (i * 7919) % 1000,
    }));
    const lines = rows.map((row, i) => `${row.query} Q0 ${row.id} ${i} ${row.score / 8} a-tag-of-some-length`);
    const expected = groupByQuery(rows);
    const file = await fileOf(lines.join('\n'));
    // In batches memory is used again, also of the block that a batch ends in.
    for (const results of [Number.POSITIVE_INFINITY, 20_000, 100]) {
      const run = await readRun(file, results);
      expect(run.size).toBe(expected.size);
      for (const [query, members] of expected) {
        expect(run.get(query)).toEqual({
          ids: members.map((row) => row.id),
          scores: members.map((row) => row.score / 8),
        });
      }
    }
  });

  it('ends a batch with a query, not within its lines', async () => {
    const lines = [3, 1, 4, 1, 5].flatMap((count, q) =>
      Array.from({ length: count }, (_, i) => `q${q} Q0 d${i} 0 1 t\n`),
    );
    const batches: string[][] = [];
    const handle = (batch: ResultTable): void => {
      batches.push([...batch.queryIds]);
    };
    await readRunInBatches(await fileOf(lines.join('')), { results: 4, handle });
    expect(batches).toEqual([['q0', 'q1'], ['q2'], ['q3', 'q4']]);
  });

  it('reads back whatever ids and scores were written', async () => {
    const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter((text) => !/[\s#\0]/u.test(text));
    const row = fc.tuple(fc.constantFrom('q1', 'q2', '😀'), word, fc.double({ noNaN: true, noDefaultInfinity: true }));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
        const run = await readRun(await fileOf(rows.map(([q, id, score]) => `${q} Q0 ${id} 0 ${score} t\n`).join('')));
        for (const query of new Set(rows.map(([q]) => q))) {
          const members = rows.filter(([q]) => q === query);
          expect(run.get(query)?.ids).toEqual(members.map(([, id]) => id));
          expect(run.get(query)?.scores).toEqual(members.map(([, , score]) => score + 0));
        }
      }),
    );
  });
});

describe('a file whose lines are written in several ways', () => {
  /** Of the columns of a line, the first of which is far commoner than each other one. */
  const anySpelling = fc.oneof(
    { weight: 10, arbitrary: fc.constant((columns: readonly string[]) => `${columns.join(' ')}\n`) },
    fc.constantFrom(
      (columns: readonly string[]) => `${columns.join('\t')}\n`,
      (columns: readonly string[]) => `  ${columns.join(' \t ')} \n`,
      (columns: readonly string[]) => `${columns.join(' ')}\r\n`,
      (columns: readonly string[]) => `${columns.join(' ')} \n`,
      (columns: readonly string[]) => `# ${columns.join(' ')}\n${columns.join(' ')}\n`,
      (columns: readonly string[]) => `\n${columns.join('\v')}\n`,
    ),
  );
  const someLines = fc
    .tuple(
      fc.array(
        fc.record({
          query: fc.constantFrom('q1', 'q1', 'q1', 'q10', 'q'),
          number: fc.integer({ min: -3, max: 3 }),
          spell: anySpelling,
        }),
        { minLength: 2, maxLength: 60 },
      ),
      fc.boolean(),
    )
    .map(([rows, hasLast]) => ({ rows: rows.map((row, i) => ({ ...row, id: `d\u00e9${i}` })), hasLast }));
  const text = (lines: readonly string[], hasLast: boolean): string =>
    hasLast ? lines.join('') : lines.join('').trimEnd();
  const lineOf = (lines: readonly string[], place: number): number =>
    lines
      .slice(0, place + 1)
      .join('')
      .split('\n').length - 1;

  it('is read as judgments, and a wrong one is named by its line', async () => {
    await fc.assert(
      fc.asyncProperty(someLines, fc.nat(59), async ({ rows, hasLast }, at) => {
        const lines = rows.map(({ query, id, number, spell }) => spell([query, '0', id, String(number)]));
        const expected = [...groupByQuery(rows)].map(
          ([query, members]) => [query, Object.fromEntries(members.map(({ id, number }) => [id, number]))] as const,
        );
        expect(await qrelsOf(text(lines, hasLast))).toEqual(Object.fromEntries(expected));
        const place = at % rows.length;
        const wrong = lines.with(place, 'q1 0 d 1.5\n');
        await expect(qrelsOf(wrong.join(''))).rejects.toThrow(`line ${lineOf(wrong, place)}: The grade "1.5"`);
        const twice = [...lines, `${rows[place]?.query} 0 ${rows[place]?.id} 1\n`];
        await expect(qrelsOf(twice.join(''))).rejects.toThrow(`line ${lineOf(twice, rows.length)}: The document`);
      }),
    );
  });

  it('is read as a run, and a wrong result is named by its line', async () => {
    const aScore = fc.constantFrom(
      '-1e-3',
      '+2.50',
      '14.285714285714286',
      '0.000001',
      '.5',
      '3.',
      '007',
      '123456789012345678',
    );
    await fc.assert(
      fc.asyncProperty(
        someLines,
        fc.array(aScore, { minLength: 1 }),
        fc.nat(59),
        async ({ rows, hasLast }, scores, at) => {
          const scored = rows.map((row, i) => ({ ...row, score: scores[i % scores.length] ?? '' }));
          const lines = scored.map(({ query, id, score, number, spell }) =>
            spell([query, 'Q0', id, '1', score, ...(number === 0 ? [] : ['a', 'tag'].slice(number % 2))]),
          );
          const run = await readRun(await fileOf(text(lines, hasLast)));
          expect(Object.fromEntries(run)).toEqual(
            Object.fromEntries(
              [...groupByQuery(scored)].map(([query, members]) => [
                query,
                { ids: members.map(({ id }) => id), scores: members.map(({ score }) => Number(score)) },
              ]),
            ),
          );
          const place = at % rows.length;
          const wrong = lines.with(place, 'q1 Q0 d 1 high t\n');
          await expect(readRun(await fileOf(wrong.join('')))).rejects.toThrow(
            `line ${lineOf(wrong, place)}: The score "high"`,
          );
        },
      ),
    );
  });
});

function groupByQuery<Row extends { readonly query: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.query, [...(groups.get(row.query) ?? []), row]);
  return groups;
}
