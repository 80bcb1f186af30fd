import { describe, expect, it } from 'vitest';
import type { QueryPageData } from '../../../../../src/golden/edge/pages/golden-reads.ts';
import { queryPage } from '../../../../../src/golden/edge/pages/query-page.ts';
import { sideBySide } from '../../../../../src/golden/edge/pages/query-sides.ts';
import { terminalText } from '../../../../../src/report/terminal.ts';
import { aGoldenQuery, aGoldenRun, anAnswer, aRunSettings, NOON } from '../../../../support/builders.ts';

const found = (...documents: (readonly [id: string, step: number])[]) =>
  documents.map(([id, step]) => ({ id, step, score: null }));

const query = aGoldenQuery({
  text: 'who founded the company that made the PET',
  steps: ['which company made the PET', 'who founded Commodore'],
  judgments: [
    { documentId: 'pet', grade: 1 },
    { documentId: 'tramiel', grade: 1 },
  ],
});

function pageOf(parts: Partial<QueryPageData> = {}): string {
  const run = aGoldenRun({ settings: aRunSettings({ cutoffs: [2] }) });
  const answer = anAnswer({ documents: found(['pet', 1], ['pet', 2], ['noise', 1], ['tramiel', 2], ['deep', 1]) });
  const { content } = queryPage({
    query,
    showsText: true,
    words: new Map(),
    after: { run, answer, scores: { 'ndcg@2': 0.6, 'all_found@2': 1, 'union_recall@2': 1 } },
    before: null,
    fates: new Map(),
    explained: null,
    incident: null,
    ...parts,
  });
  return terminalText(content, NOON);
}

describe('the page of a query with steps', () => {
  it('lists the top k documents of each step, and marks those that an earlier step returned', () => {
    const text = pageOf();
    const [, first = '', second = ''] = /Step 1([\s\S]*?)Step 2([\s\S]*?)Before/.exec(text) ?? [];
    expect(first).toContain('which company made the PET');
    expect(first).toMatch(/1\s+pet\s+relevant, 1\s+new/);
    expect(first).toMatch(/2\s+noise\s+unjudged\s+new/);
    expect(first).not.toContain('deep');
    expect(second).toMatch(/1\s+pet\s+relevant, 1\s+repeats step 1/);
    expect(second).toMatch(/2\s+tramiel\s+relevant, 1\s+new/);
    expect(text).toMatch(/all_found@2\s+1/);
  });

  it('does not show the text of the steps if the pipeline stores only hashes', () => {
    const text = pageOf({ showsText: false });
    expect(text).not.toContain('who founded');
    expect(text).toMatch(/2\s+tramiel/);
  });
});

it('the documents of a query with steps are ranked as in the merged ranking, without repeated documents', () => {
  const { after } = sideBySide([], found(['pet', 1], ['pet', 2], ['noise', 1], ['tramiel', 2]), query.judgments);
  expect(after.map(({ id, rank }) => [id, rank])).toEqual([
    ['pet', 1],
    ['noise', 2],
    ['tramiel', 3],
  ]);
});
