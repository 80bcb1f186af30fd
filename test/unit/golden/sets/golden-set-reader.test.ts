import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fixture, read } from './golden-files.ts';

const support = [
  {
    id: 'q1',
    text: 'How do I reset my password?',
    tags: { language: 'en', product: 'login' },
    judgments: [
      { documentId: 'kb/12', grade: 2 },
      { documentId: 'kb/40', grade: 1 },
    ],
  },
  {
    id: 'q2',
    text: 'Wie lösche ich mein Konto?',
    tags: { language: 'de' },
    judgments: [{ documentId: 'kb/7', grade: 1 }],
  },
  {
    id: 'q3',
    text: 'Where is my invoice, "PDF" or on paper; or both?',
    tags: { language: 'en', product: 'billing' },
    judgments: [
      { documentId: 'kb/3', grade: 1 },
      { documentId: 'kb/4', grade: 0 },
    ],
  },
];

describe('the same golden set', () => {
  it.each([
    ['beir', 'beir'],
    ['csv', 'support.csv'],
    ['jsonl', 'support.jsonl'],
  ] as const)('in %s contains the same queries, tags and judgments', async (format, name) => {
    const set = await read(fixture(name));
    expect(set).toMatchObject({ format, queries: support, counts: { queries: 3, judgments: 5 } });
    expect(await read(fixture(name), { format })).toEqual(set);
  });

  it('has no tags in TREC, whether read from the folder or from the qrels file', async () => {
    const set = await read(fixture('trec'));
    expect(set).toMatchObject({ format: 'trec', queries: support.map((query) => ({ ...query, tags: {} })) });
    expect(await read(fixture('trec/qrels.txt'))).toEqual(set);
  });

  it('has no warnings except for merged rows', async () => {
    expect((await read(fixture('beir'))).warnings).toEqual([]);
    expect((await read(fixture('trec'))).warnings).toEqual([]);
    expect((await read(fixture('support.jsonl'))).warnings).toEqual([]);
    expect((await read(fixture('support.csv'))).warnings).toEqual([
      `Merged rows with the query and tags of an earlier row: 2 (first: line 3 of ${fixture('support.csv')}). Use --rows-as-queries to treat each row as a query.`,
    ]);
  });
});

describe('the demo golden set', () => {
  const folder = fileURLToPath(new URL('../../../../src/demo/data/xquad-en', import.meta.url));

  it('contains 1,190 queries, each with one relevant passage', async () => {
    const set = await read(folder);
    expect(set.format).toBe('beir');
    expect(set.counts).toEqual({ queries: 1190, judgments: 1190 });
    expect(set.warnings).toEqual([
      `Queries, ids and tags with surrounding white space, which was removed: 42 (first: line 106 of ${folder}/queries.jsonl).`,
    ]);
    expect(set.queries[0]).toEqual({
      id: '56beb4343aeaaa14008c925b',
      text: 'How many points did the Panthers defense surrender?',
      tags: {},
      judgments: [{ documentId: 'Super_Bowl_50/1', grade: 1 }],
    });
  });
});
