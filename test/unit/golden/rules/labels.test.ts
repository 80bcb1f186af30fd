import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyProposals,
  fateOf,
  findAnchors,
  judgedDocuments,
  matchAcceptances,
  probeLabels,
  proposeLabels,
  staleParts,
} from '../../../../src/golden/rules/labels.ts';
import { aGoldenQuery } from '../../../support/builders.ts';

const sentence = (name: string, words: number): string =>
  Array.from({ length: words }, (_, i) => `${name}${i}`).join(' ');
const candidate = (documentId: string, content: string, similarity = 0.9) => ({
  documentId,
  content,
  similarity,
});

describe('the replacement for a lost document', () => {
  const lost = `${sentence('a', 20)}. ${sentence('b', 20)}.`;

  it('is the chunk with the same text, whatever else is similar', () => {
    const candidates = [
      candidate('longer', `${lost} ${sentence('c', 2)}`, 0.99),
      candidate('same', lost.toUpperCase(), 0.98),
    ];
    expect(findAnchors(lost, candidates)).toEqual([
      { documentId: 'same', evidence: { kind: 'same_content', cosine: 0.98 } },
    ]);
  });

  it('is the larger chunk that contains the lost text', () => {
    const [found] = findAnchors(lost, [
      candidate('other', sentence('z', 40)),
      candidate('large', `${sentence('x', 30)} ${lost}`),
    ]);
    expect(found).toMatchObject({ documentId: 'large', evidence: { kind: 'whole', ofLost: 1 } });
  });

  it('is the list of chunks into which the document was split, the longest first', () => {
    const found = findAnchors(lost, [
      candidate('second', sentence('b', 20)),
      candidate('first', `${sentence('a', 20)} b0 b1`),
    ]);
    expect(found.map(({ documentId, evidence }) => [documentId, evidence.kind])).toEqual([
      ['first', 'part'],
      ['second', 'part'],
    ]);
  });

  it('is empty when the texts only share a topic, however similar their vectors are', () => {
    expect(findAnchors(lost, [candidate('other', `${sentence('a', 8)} ${sentence('n', 30)}`, 0.999)])).toEqual([]);
    expect(findAnchors(lost, [candidate('tiny', 'a0 a1 a2', 0.999)])).toEqual([]);
    expect(findAnchors('', [candidate('empty', '')])).toEqual([]);
  });

  it('never has a text overlap below 80 %', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    const text = fc.array(word, { maxLength: 30 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 6 }), (original, chunks) => {
        const shares = findAnchors(
          original,
          chunks.map((chunk, i) => candidate(`d${i}`, chunk)),
        ).map(({ evidence }) =>
          evidence.kind === 'same_content' ? 1 : evidence.kind === 'whole' ? evidence.ofLost : evidence.ofChunk,
        );
        expect(shares.every((share) => share >= 0.8)).toBe(true);
      }),
    );
  });
});

describe('a proposal', () => {
  const same = { kind: 'same_content', cosine: 1 } as const;
  const labels = [
    { queryId: 'q1', documentId: 'gone', grade: 2, fate: 'superseded' },
    { queryId: 'q1', documentId: 'lost', grade: 1, fate: 'lost' },
  ] as const;
  const proposals = proposeLabels(
    labels,
    new Map([
      ['gone', [{ documentId: 'new', evidence: same }]],
      ['lost', []],
    ]),
  );

  it('is made only if a replacement was found, and has a number by which users accept it', () => {
    expect(proposals).toEqual([
      { number: 1, queryId: 'q1', from: 'gone', to: [{ documentId: 'new', evidence: same }], grade: 2 },
    ]);
  });

  it('moves the grade when it is accepted, and changes nothing else', () => {
    const query = aGoldenQuery({
      judgments: [
        { documentId: 'gone', grade: 2 },
        { documentId: 'lost', grade: 1 },
        { documentId: 'd3', grade: 0 },
      ],
    });
    const other = aGoldenQuery({ id: 'q2' });
    expect(applyProposals([query, other], proposals)).toEqual([
      {
        ...query,
        judgments: [
          { documentId: 'lost', grade: 1 },
          { documentId: 'd3', grade: 0 },
          { documentId: 'new', grade: 2 },
        ],
      },
      other,
    ]);
    expect(applyProposals([query], [])).toEqual([query]);
  });

  it('never lowers the grade of a chunk that was judged before', () => {
    const query = aGoldenQuery({
      judgments: [
        { documentId: 'gone', grade: 2 },
        { documentId: 'new', grade: 3 },
      ],
    });
    expect(applyProposals([query], proposals)[0]?.judgments).toEqual([{ documentId: 'new', grade: 3 }]);
  });
});

const evidence = { kind: 'same_content', cosine: 1 } as const;
const proposal = {
  number: 1,
  queryId: 'q1',
  from: 'gone',
  to: [
    { documentId: 'a', evidence },
    { documentId: 'b', evidence },
  ],
  grade: 2,
};

describe('the judgment of a deleted document', () => {
  const deleted = { queryId: 'q1', documentId: 'withdrawn', grade: 2, fate: 'deleted' } as const;
  const removal = { number: 1, queryId: 'q1', from: 'withdrawn', to: [], grade: 2 };

  it('is proposed for removal, unless another document has the same text', () => {
    expect(proposeLabels([deleted], new Map())).toEqual([removal]);
    const found = [{ documentId: 'new', evidence }];
    expect(proposeLabels([deleted], new Map([['withdrawn', found]]))).toEqual([{ ...removal, to: found }]);
  });

  it('is removed, together with a query that has no other relevant document', () => {
    const withdrawn = { documentId: 'withdrawn', grade: 2 };
    const kept = aGoldenQuery({ judgments: [withdrawn, { documentId: 'd2', grade: 1 }] });
    expect(applyProposals([kept], [removal])[0]?.judgments).toEqual([{ documentId: 'd2', grade: 1 }]);
    const dead = aGoldenQuery({ judgments: [withdrawn, { documentId: 'd2', grade: 0 }] });
    const other = aGoldenQuery({ id: 'q2' });
    expect(applyProposals([dead, other], [removal])).toEqual([other]);
    const probe = { ...dead, forbidden: ['tenant-b/*'] };
    expect(applyProposals([probe], [removal])).toEqual([{ ...probe, judgments: [] }]);
  });

  it('is removed only by an acceptance without chunks, which does not apply to a judgment that is to be moved', () => {
    const asRemoval = { queryId: 'q1', from: 'withdrawn', to: [] };
    expect(matchAcceptances([removal], [asRemoval])).toEqual({ accepted: [removal], unknown: [] });
    const asMove = { ...asRemoval, to: ['a'] };
    expect(matchAcceptances([removal], [asMove])).toEqual({ accepted: [], unknown: [asMove] });
    const withoutChunks = { queryId: 'q1', from: 'gone', to: [] };
    expect(matchAcceptances([proposal], [withoutChunks])).toEqual({ accepted: [], unknown: [withoutChunks] });
  });
});

describe('the acceptance of a proposal', () => {
  it('applies only to the chunks that the user chose', () => {
    const { accepted, unknown } = matchAcceptances([proposal], [{ queryId: 'q1', from: 'gone', to: ['b'] }]);
    expect(accepted).toEqual([{ ...proposal, to: [{ documentId: 'b', evidence }] }]);
    expect(unknown).toEqual([]);
  });

  it('is refused when the proposal, or one of its chunks, no longer exists', () => {
    const acceptances = [
      { queryId: 'q1', from: 'gone', to: ['a', 'c'] },
      { queryId: 'q2', from: 'gone', to: ['a'] },
    ];
    expect(matchAcceptances([proposal], acceptances)).toEqual({ accepted: [], unknown: acceptances });
  });
});

const judged = (id: string, ...grades: readonly (readonly [string, number])[]) =>
  aGoldenQuery({ id, judgments: grades.map(([documentId, grade]) => ({ documentId, grade })) });

const queries = [
  judged('q1', ['a', 1], ['b', 2]),
  judged('q2', ['b', 1]),
  judged('q3', ['c', 1], ['never-relevant', 0]),
  judged('q4'),
];

describe('the labels of a golden set', () => {
  it('cover the documents with a positive grade for some query, each once', () => {
    expect(judgedDocuments(queries)).toEqual(['a', 'b', 'c']);
  });

  it('are not stale while every judged document is in the store', () => {
    expect(probeLabels(queries, new Set(['a', 'b', 'c']), 1)).toEqual({
      kind: 'probed',
      probed: 3,
      stale: 0,
      deleted: 0,
      lost: 0,
      labels: [],
      touched: new Set(),
      dead: new Set(),
    });
  });

  it('are stale in each query of a superseded document, and a query without other documents is unanswerable', () => {
    expect(probeLabels(queries, new Set(['a', 'c']), 1)).toEqual({
      kind: 'probed',
      probed: 3,
      stale: 1,
      deleted: 0,
      lost: 0,
      labels: [
        { queryId: 'q1', documentId: 'b', grade: 2, fate: 'superseded' },
        { queryId: 'q2', documentId: 'b', grade: 1, fate: 'superseded' },
      ],
      touched: new Set(['q1', 'q2']),
      dead: new Set(['q2']),
    });
  });

  it('make a query unanswerable if no document at the relevance level remains, whatever others remain', () => {
    expect(probeLabels(queries, new Set(['a', 'c']), 2)).toMatchObject({ dead: new Set(['q1']) });
  });

  it('are stale if the manifest lists the document as deleted, and are counted separately from superseded ones', () => {
    expect(probeLabels(queries, new Set(['a', 'c']), 1, new Map([['b', 'deleted']]))).toMatchObject({
      stale: 1,
      deleted: 1,
      lost: 0,
      touched: new Set(['q1', 'q2']),
      dead: new Set(['q2']),
    });
    expect(staleParts(8, 5)).toBe('3 superseded, 5 deleted in the manifest');
    expect(staleParts(8, 0)).toBe('8 superseded');
  });

  it('do not exclude a query from comparisons because a document is lost', () => {
    expect(probeLabels(queries, new Set(['a', 'c']), 1, new Map([['b', 'lost']]))).toMatchObject({
      stale: 0,
      lost: 1,
      touched: new Set(),
      dead: new Set(),
    });
  });
});

describe('a judged document that is missing', () => {
  it.each([
    ['replaced', 0.1, 'superseded'],
    ['replaced', 1, 'superseded'],
    ['not_found', 0.1, 'lost'],
    ['not_found', 1, 'lost'],
    ['unknown', 0.3, 'lost'],
    ['unknown', 0.8, 'superseded'],
  ] as const)('with the search result %s, and a share of %d missing, is %s', (search, share, fate) => {
    expect(fateOf(search, share)).toBe(fate);
  });

  it.each([
    ['replaced', 'superseded'],
    ['not_found', 'deleted'],
    ['unknown', 'deleted'],
  ] as const)('that the manifest lists as deleted, with the search result %s, is %s', (search, fate) => {
    for (const share of [0.1, 1]) expect(fateOf(search, share, true)).toBe(fate);
  });
});
