import { expect, it } from 'vitest';
import type { QueryPageData } from '../../../../../src/golden/edge/pages/golden-reads.ts';
import { queryPage } from '../../../../../src/golden/edge/pages/query-page.ts';
import { sideBySide } from '../../../../../src/golden/edge/pages/query-sides.ts';
import { queryVerdict } from '../../../../../src/golden/edge/pages/query-verdict.ts';
import { terminalText } from '../../../../../src/report/terminal.ts';
import { aGoldenRun, anAnswer, anIncident, aRunSettings, NOON } from '../../../../support/builders.ts';

const ranked = (...ids: string[]) => ids.map((id) => ({ id, score: null }));

it('each document is listed with its grade and its rank in the other run', () => {
  const { before, after } = sideBySide(ranked('a', 'b', 'c'), ranked('b', 'x', 'a'), [
    { documentId: 'a', grade: 2 },
    { documentId: 'x', grade: 0 },
  ]);
  expect(before.map(({ id, rank, otherRank, grade }) => [id, rank, otherRank, grade])).toEqual([
    ['a', 1, 3, 2],
    ['b', 2, 1, null],
    ['c', 3, null, null],
  ]);
  expect(after.map(({ id, rank, otherRank, grade }) => [id, rank, otherRank, grade])).toEqual([
    ['b', 1, 2, null],
    ['x', 2, null, 0],
    ['a', 3, 1, 2],
  ]);
});

it('a document that was returned twice counts at its first rank', () => {
  const { after } = sideBySide([], ranked('a', 'a', 'b'), []);
  expect(after.map(({ id, rank }) => [id, rank])).toEqual([
    ['a', 1],
    ['b', 3],
  ]);
});

it('relevant documents that were not returned are listed, the highest grade first', () => {
  const { missed } = sideBySide(ranked('a'), ranked('b'), [
    { documentId: 'a', grade: 1 },
    { documentId: 'c', grade: 1 },
    { documentId: 'd', grade: 3 },
    { documentId: 'e', grade: 0 },
  ]);
  expect(missed.map(({ documentId }) => documentId)).toEqual(['d', 'a', 'c']);
});

it('the verdict on a query states both scores, the documents that are no longer returned, and the likely cause', () => {
  const run = aGoldenRun({ settings: aRunSettings({ cutoffs: [10] }) });
  const side = (score: number, ...ids: string[]) => ({
    run,
    answer: anAnswer({ documents: ranked(...ids) }),
    scores: { 'ndcg@10': score },
  });
  const judgments = [{ documentId: 'a', grade: 1 }];
  const data: QueryPageData = {
    query: { id: 'q1', text: 'how to reset', judgments, tags: {} },
    showsText: true,
    words: new Map(),
    after: side(0, 'b'),
    before: side(1, 'a', 'b'),
    fates: new Map(),
    explained: null,
    incident: anIncident({ cause: 'index_lost_documents' }),
  };
  const sides = sideBySide(ranked('a', 'b'), ranked('b'), judgments);
  const text = terminalText(queryVerdict(data, sides, data.incident), NOON).replaceAll(/\s+/g, ' ');
  expect(text).toContain('nDCG@10 dropped from 1 to 0.');
  expect(text).toContain('No longer returned: a (previously rank 1).');
  expect(text).toContain('Likely cause: documents missing from the index (incident 7).');
  const failed = { ...data, after: { ...data.after, answer: anAnswer({ outcome: 'timeout', documents: [] }) } };
  expect(terminalText(queryVerdict(failed, sides, null), NOON)).toContain('The retriever failed (timeout).');
  const reasons = [
    ['lost', 'missing from the store: a', 'lost: missing from the store'],
    ['superseded', 'in the store under another id: a', 'superseded: its judgment is out of date'],
    ['deleted', 'deleted in the manifest: a', 'deleted in the manifest: its judgment is out of date'],
  ] as const;
  for (const [fate, reason, shown] of reasons) {
    const gone = { ...data, fates: new Map([['a', fate]]) };
    expect(terminalText(queryVerdict(gone, sides, null), NOON)).toContain(reason);
    const page = terminalText(queryPage(gone).content, NOON);
    expect(page.replaceAll(/\s+/g, ' '), 'in the list of documents that were not returned').toContain(shown);
  }
});
