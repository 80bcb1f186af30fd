import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readQrels } from '../../../../src/golden/trec/qrels-file.ts';
import type { ResultTable } from '../../../../src/golden/trec/result-table.ts';
import { readRunInBatches } from '../../../../src/golden/trec/run-file.ts';
import type { ScoredDocuments } from '../../../../src/math/ir/ranking.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-run-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function fileOf(content: string | Buffer, name = 'file.txt'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** Returns the results in all batches of a run, keyed by query id. */
async function readRun(path: string, results = Number.POSITIVE_INFINITY): Promise<Map<string, ScoredDocuments>> {
  const run = new Map<string, ScoredDocuments>();
  await readRunInBatches(path, results, (batch) => {
    for (const id of batch.queries.keys()) {
      const { ids = [], scores = [] } = run.get(id) ?? {};
      const more = batch.get(id);
      run.set(id, { ids: [...ids, ...(more?.ids ?? [])], scores: [...scores, ...(more?.scores ?? [])] });
    }
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
    ['without a tag', 'q Q0 a 1 2\n'],
    ['with a rank that is written as 1.0', 'q Q0 a 1.0 2 t\n'],
    ['with a byte order mark', '\ufeffq Q0 a 1 2 t\n'],
    ['with tabs and a carriage return', 'q\tQ0\ta\t1\t2\ttag\r\n'],
    ['after a comment', '# run of May\nq Q0 a 1 2 t'],
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
      'line 1: The score "high" in column 5 is not a finite decimal number; write it as 12.5 or 1e-3, or',
    ],
    ['NaN as score', 'q Q0 a 1 nan t\n', 'line 1: The score "nan" in column 5 is not'],
    ['infinity as score', 'q Q0 a 1 -inf t\n', 'line 1: The score "-inf" in column 5 is not'],
    ['a score that no double can hold', 'q Q0 a 1 1e999 t\n', 'line 1: The score "1e999" in column 5 is not'],
    ['control characters, shown as escapes', 'q Q0 a 1 \u001b[31m t\n', 'line 1: The score "\\u001b[31m" in column 5'],
  ])('refuses %s, with the line number', async (_what, content, message) => {
    await expect(readRun(await fileOf(content))).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`${join(folder, 'file.txt')}, ${message}`),
    });
  });

  it.each([
    ['a seventh column', 'q Q0 a 1 2 t\nq Q0 a b 1 2 t\n', 'line 2: A result needs the 6 columns'],
    ['words after the tag', 'q Q0 a 1 2 my run tag\n', 'line 1: A result needs the 6 columns'],
    ['a rank that is a word', 'q Q0 a b 2 t\n', 'line 1: The rank "b" in column 4 is not a whole number'],
    ['a rank that is a fraction', 'q Q0 a 1.5 2 t\n', 'line 1: The rank "1.5" in column 4'],
    ['a tag on some lines only', 'q Q0 a 1 2\nq Q0 b 2 1 t\n', 'line 2: A result needs the 5 columns'],
    ['an empty id', 'q\tQ0\t \t1\t2\tt\n', 'line 1: Column 3 ("document-id") is empty'],
    [
      'a line with either a space in an id or mixed separators',
      'q\tQ0\tdoc 5\t1\t2\n',
      'line 1: The line is ambiguous: ',
    ],
    ['a line that lacks either the tag or Q0', 'q d1 1 2 7\nq d2 2 1 7\n', 'line 1: The line is ambiguous: '],
    ['an empty Q0', 'q\t\td1\t1\t2.0\t7\n', 'line 1: The line is ambiguous: '],
    ['semicolons as separators', 'q;Q0;d1;1;2.0;r\n', 'line 1: The columns are separated by semicolons'],
    ['ids with spaces and no tag', 'q Q0 doc 1 1 0.9\nq Q0 doc 2 2 0.8\n', 'line 1: The line is ambiguous: '],
    ['three columns', 'q d 1\n', 'line 1: A line of 3 columns may be'],
    ['a file of judgments', 'q 0 d 1\n', 'line 1: A result needs the 6 columns'],
    ['commas as separators', 'q,Q0,d,1,2,t\n', 'line 1: The columns are separated by commas'],
    ['a second header', 'qid\tdocid\tscore\nq\ta\t2\nqid\tdocid\tscore\n', 'line 3: The score "score" in column 3'],
    ['a header with two documents', 'qid docid docno score\n1 2 a 3\n', 'line 1: The header has "docid" and "docno"'],
    ['a header without score and rank', 'qid docid\n1 2\n', 'line 1: The header names neither a rank nor a score'],
  ])('refuses %s, with the line number', async (_what, content, message) => {
    await expect(readRun(await fileOf(content))).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining(`file.txt, ${message}`),
    });
  });

  it.each([
    ['of TREC', 'query-id Q0 document-id rank score tag\nq Q0 a 1 2 t\n', 2],
    ['with other columns', 'score\tDoc ID\tquery\tqid\n2\ta\twhat is it\tq\n', 2],
    ['with ranks but no scores', 'query_id document_id rank\nq a 3\n', -3],
    ['after a byte order mark and a comment', '\ufeff# run\nqid,x docid rank score\nq a 1 2\n'.replace(',x', ''), 2],
  ])('reads columns according to a header %s', async (_what, content, score) => {
    expect((await readRun(await fileOf(content))).get('q')).toEqual({ ids: ['a'], scores: [score] });
  });

  it('keeps spaces inside ids if tabs separate columns, even after many document ids without spaces', async () => {
    const lines = Array.from({ length: 300 }, (_, i) => `a query\tQ0\td${i}\t${i}\t${-i}\tt`);
    const run = await readRun(await fileOf([...lines, 'a query\tQ0\ttwo  words.pdf\t1\t-300\tmy run'].join('\n')));
    expect(run.get('a query')?.ids.at(-1)).toBe('two  words.pdf');
    expect(run.get('a query')?.ids).toHaveLength(301);
  });

  it('skips a byte order mark in the middle of the file, and keeps a no-break space inside an id', async () => {
    const run = await readRun(
      await fileOf('q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n\ufeffq1 Q0 c\u00a0d 3 0 t\nq2 Q0 e 1 1 t\n'),
    );
    expect(run.get('q1')?.ids).toEqual(['a', 'b', 'c\u00a0d']);
    expect([...run.keys()]).toEqual(['q1', 'q2']);
  });

  it('refuses an empty file', async () => {
    await expect(readRun(await fileOf(''))).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining('has no results'),
    });
  });

  it('refuses a file that is not UTF-8 text, with the line number', async () => {
    const good = 'q Q0 a 1 1 t\n';
    for (const bad of [Buffer.from('q Q0 caf\xe9 1 1 t\n', 'latin1'), Buffer.from('q Q0 a\0 1 1 t\n')]) {
      await expect(
        readRun(await fileOf(Buffer.concat([Buffer.from(good), bad, Buffer.from(good)]))),
      ).rejects.toMatchObject({
        code: 'file_malformed',
        message: expect.stringMatching(
          /, line 2: The line is not UTF-8 text\. Unpack the file or convert it to UTF-8\.$/,
        ),
      });
    }
    await expect(readRun(await fileOf(Buffer.from(good, 'utf16le')))).rejects.toThrow(
      'line 1: The file is UTF-16; save the file as UTF-8.',
    );
  });

  it('refuses a line that is longer than a block', async () => {
    await expect(readRun(await fileOf(`q Q0 a 1 1 t\n${'x'.repeat(600_000)}`))).rejects.toThrow(
      'line 2: The line is longer than 512 KiB',
    );
  });

  it('reports why a path cannot be read', async () => {
    await expect(readRun(join(folder, 'absent.txt'))).rejects.toMatchObject({
      code: 'file_unreadable',
      message: `${join(folder, 'absent.txt')} does not exist; check the path.`,
    });
    await expect(readQrels(folder)).rejects.toMatchObject({
      code: 'file_unreadable',
      message: `${folder} is a folder; specify a file.`,
    });
  });

  it('reads files of many blocks whose characters and lines cross the block boundaries', async () => {
    // After every 15,000 rows, ids start with a character of a different byte length, so that only some blocks are
    // ASCII.
    const alphabet = ['d', 'é', '～', '😀'];
    const rows = Array.from({ length: 60_000 }, (_, i) => ({
      query: `q${Math.floor(i / 7) % 5000}`,
      id: `${alphabet[Math.floor(i / 15_000)]}${i}`,
      score: (i * 7919) % 1000,
    }));
    const lines = rows.map((row, i) => `${row.query} Q0 ${row.id} ${i} ${row.score / 8} a-tag-of-some-length`);
    const expected = groupByQuery(rows);
    const file = await fileOf(lines.join('\n'));
    // Memory is reused between batches, including the block in which a batch ends.
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

  it('ends a batch at the end of a query', async () => {
    const lines = [3, 1, 4, 1, 5].flatMap((count, q) =>
      Array.from({ length: count }, (_, i) => `q${q} Q0 d${i} 0 1 t\n`),
    );
    const batches: string[][] = [];
    const handle = (batch: ResultTable): void => {
      batches.push([...batch.queries.keys()]);
    };
    await readRunInBatches(await fileOf(lines.join('')), 4, handle);
    expect(batches).toEqual([['q0', 'q1'], ['q2'], ['q3', 'q4']]);
  });

  it('reads back any ids and scores that were written', async () => {
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

describe('a run file with lines in several forms', () => {
  /** Separators between the columns of a line; the first is far more common than any other. */
  const anySpelling = fc.oneof(
    { weight: 10, arbitrary: fc.constant((columns: readonly string[]) => `${columns.join(' ')}\n`) },
    fc.constantFrom(
      (columns: readonly string[]) => `${columns.join(' \t')}\n`,
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

  it('is read, and a malformed line is reported by its number', async () => {
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
        fc.boolean(),
        async ({ rows, hasLast }, scores, at, hasTag) => {
          const scored = rows.map((row, i) => ({ ...row, score: scores[i % scores.length] ?? '' }));
          const lines = scored.map(({ query, id, score, number, spell }) =>
            spell([query, 'Q0', id, String(number), score, ...(hasTag ? ['tag'] : [])]),
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
          const wrong = lines.with(place, `q1 Q0 d 1 high${hasTag ? ' t' : ''}\n`);
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
