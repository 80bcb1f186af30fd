import { describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { exportGoldenSet } from '../../../../src/golden/rules/export-golden-set.ts';
import type { GoldenFormat } from '../../../../src/golden/rules/golden-set.ts';

describe('an exported golden set', () => {
  it.each<[GoldenFormat, Partial<GoldenQuery>, string]>([
    [
      'trec',
      { tags: { lang: 'en' } },
      'TREC cannot express the query "q1": it has the tag "lang"; use --format jsonl, beir or csv, or add --drop-tags.',
    ],
    [
      'trec',
      { text: 'a\tb' },
      'TREC cannot express the query "q1": its text has a tab or a line break; use --format jsonl, beir or csv.',
    ],
    [
      'trec',
      { judgments: [{ documentId: 'd 1', grade: 1 }] },
      'TREC cannot express the query "q1": the id "d 1" has a space, which ends a column; use --format jsonl, beir or csv.',
    ],
    [
      'csv',
      { text: 'a\r\nb' },
      'CSV cannot express the query "q1": its text has a CRLF, which would be read as LF; use --format jsonl or beir.',
    ],
    [
      'csv',
      { tags: { Score: '1' } },
      'CSV cannot express the query "q1": its tag "Score" has the name of a column in this format; use --format jsonl or beir.',
    ],
    [
      'csv',
      { tags: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`t${i}`, 'x'])) },
      'CSV cannot express the query "q1": the set has 33 different tags, but a table may have at most 32; use --format jsonl or beir.',
    ],
    [
      'jsonl',
      { tags: JSON.parse('{"__proto__": "x"}') as Record<string, string> },
      'JSONL cannot express the query "q1": its tag "__proto__" is lost in JSON; use --format csv.',
    ],
    ['questions', {}, 'A list of queries cannot express the query "q1": it has judgments; use --format jsonl.'],
    [
      'questions',
      { judgments: [], tags: { lang: 'en' } },
      'A list of queries cannot express the query "q1": it has tags; use --format jsonl.',
    ],
    [
      'questions',
      { judgments: [], text: 'a\nb' },
      'A list of queries cannot express the query "q1": its text has a line break; use --format jsonl.',
    ],
    [
      'beir',
      { judgments: [] },
      'The query "q1" has no judgment, so the format beir would lose it. Use --format questions for a set without judgments.',
    ],
  ])('in %s is refused with the reason and a fix if an import would change it (%o)', (format, parts, message) => {
    const query = { id: 'q1', text: 'a', tags: {}, judgments: [{ documentId: 'd1', grade: 1 }], ...parts };
    expect(() => exportGoldenSet([query], format)).toThrow(new RecalldError('export_impossible', message));
  });

  it('without queries is refused', () => {
    expect(() => exportGoldenSet([], 'csv')).toThrow(/has no queries/);
  });
});
