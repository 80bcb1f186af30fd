import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { type ExportFile, exportGoldenSet } from '../../../../src/golden/rules/export-golden-set.ts';
import { forbids } from '../../../../src/golden/rules/forbidden-results.ts';
import { type GoldenFormat, judgedQueries } from '../../../../src/golden/rules/golden-set.ts';
import { type Files, readFiles } from './golden-files.ts';

/** Any text that an importer accepts: trimmed, without NUL and without unpaired surrogates. */
const importable = (maxLength: number, unit: 'binary' | 'grapheme') =>
  fc
    .string({ unit, minLength: 1, maxLength })
    .map((text) => text.replaceAll(/[\0\p{Cs}]/gu, '').trim())
    .filter((text) => text !== '');

const noControl = (text: fc.Arbitrary<string>) =>
  text.map((value) => value.replaceAll(/\p{Cc}/gu, '').trim()).filter((value) => value !== '');

const oddWords = fc.constantFrom(
  '"',
  '""',
  ',',
  ';',
  "'",
  '\\',
  '#',
  '\u2028',
  '\u00a0x',
  '=SUM(A1)',
  'text',
  'query_id',
  '__proto__',
  '\u{1F600}',
  'a\u0301',
  '\uFEFFb',
);
const text = fc
  .array(fc.oneof(importable(12, 'binary'), importable(12, 'grapheme'), oddWords, fc.constantFrom('\n', '\t', '\r')), {
    minLength: 1,
    maxLength: 6,
  })
  .map((words) => words.join(' ').trim())
  .filter((value) => value !== '');
const id = noControl(fc.oneof(importable(10, 'binary'), importable(10, 'grapheme'), oddWords));
const tagName = noControl(fc.oneof(importable(8, 'grapheme'), fc.constantFrom('lang', 'Tenant 7', 'score', 'id'))).map(
  (name) => name.replaceAll('=', '~'),
);

const query: fc.Arbitrary<GoldenQuery> = fc
  .record({
    id,
    text,
    tags: fc.dictionary(tagName, noControl(importable(12, 'binary')), { maxKeys: 3, noNullPrototype: true }),
    judgments: fc.uniqueArray(fc.record({ documentId: id, grade: fc.nat(1000) }), {
      maxLength: 4,
      selector: ({ documentId }) => documentId,
    }),
    forbidden: fc.option(fc.uniqueArray(id, { minLength: 1, maxLength: 3 }), { freq: 3, nil: [] }),
    noAnswer: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
  })
  .map(({ forbidden, noAnswer, ...drawn }): GoldenQuery => {
    const judged = noAnswer ? { ...drawn, judgments: [], noAnswer } : drawn;
    const relevant = judged.judgments.filter(({ grade }) => grade > 0).map(({ documentId }) => documentId);
    const apart = forbidden.filter((pattern) => !relevant.some((document) => forbids([pattern], document) !== null));
    return apart.length === 0 ? judged : { ...judged, forbidden: apart };
  })
  .filter(({ judgments, forbidden = [], noAnswer }) => noAnswer === true || judgments.length + forbidden.length > 0);

const queries = fc.uniqueArray(query, { minLength: 1, maxLength: 6, selector: ({ id: own }) => own });

function toFiles(files: readonly ExportFile[], single: string): Files {
  return Object.fromEntries(files.map(({ path, text: content }) => [path ?? single, content]));
}

/** Returns what remains of a set in a format that stores only judgments. */
function judgedAlone(set: readonly GoldenQuery[]): GoldenQuery[] {
  return judgedQueries(set).map(({ id: own, text: question, tags, judgments }) => ({
    id: own,
    text: question,
    tags,
    judgments,
  }));
}

const formats: readonly [GoldenFormat, string, (queries: readonly GoldenQuery[]) => GoldenQuery[]][] = [
  ['jsonl', 'set.jsonl', (set) => [...set]],
  ['beir', '.', judgedAlone],
  ['csv', 'set.csv', (set) => [...set]],
  ['trec', '.', (set) => judgedAlone(set).map((query) => ({ ...query, tags: {} }))],
];

describe('an exported golden set', () => {
  it.each(formats)('in %s is imported unchanged, or the export is refused', async (format, name, prepare) => {
    let written = 0;
    await fc.assert(
      fc.asyncProperty(queries, async (set) => {
        const given = prepare(set);
        if (given.length === 0) return;
        const files = attempt(given, format);
        if (files === null) return;
        written += 1;
        const { queries: read } = await readFiles(toFiles(files, name), name);
        expect(read).toEqual(given);
      }),
      { numRuns: 150 },
    );
    expect(written).toBeGreaterThan(20);
  });

  it('keeps a first TREC query that resembles a header', async () => {
    const query = { id: 'qid', text: 'query', tags: {}, judgments: [{ documentId: 'd', grade: 1 }] };
    const files = toFiles(exportGoldenSet([query], 'trec'), '.');
    expect((await readFiles(files, '.')).queries).toEqual([query]);
  });
});

function attempt(set: readonly GoldenQuery[], format: GoldenFormat): ExportFile[] | null {
  try {
    return exportGoldenSet(set, format);
  } catch (error) {
    if (error instanceof RecalldError && error.code === 'export_impossible') return null;
    throw error;
  }
}
