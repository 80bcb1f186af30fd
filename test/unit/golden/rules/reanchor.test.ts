import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyProposals, findAnchors, proposeLabels } from '../../../../src/golden/rules/labels.ts';
import { aGoldenQuery } from '../../../support/builders.ts';

const sentence = (name: string, words: number): string =>
  Array.from({ length: words }, (_, i) => `${name}${i}`).join(' ');
const candidate = (documentId: string, content: string, similarity = 0.9) => ({
  documentId,
  content,
  similarity,
});

describe('the chunk in the place of a lost document', () => {
  const lost = `${sentence('a', 20)}. ${sentence('b', 20)}.`;

  it('is the one with the same text, whatever else is near', () => {
    const candidates = [
      candidate('longer', `${lost} ${sentence('c', 2)}`, 0.99),
      candidate('same', lost.toUpperCase(), 0.98),
    ];
    expect(findAnchors(lost, candidates)).toEqual([
      { documentId: 'same', evidence: { kind: 'same_content', cosine: 0.98 } },
    ]);
  });

  it('is the larger chunk that the lost text went into', () => {
    const [found] = findAnchors(lost, [
      candidate('other', sentence('z', 40)),
      candidate('large', `${sentence('x', 30)} ${lost}`),
    ]);
    expect(found).toMatchObject({ documentId: 'large', evidence: { kind: 'whole', ofLost: 1 } });
  });

  it('are the parts that it was cut into, the longest first', () => {
    const found = findAnchors(lost, [
      candidate('second', sentence('b', 20)),
      candidate('first', `${sentence('a', 20)} b0 b1`),
    ]);
    expect(found.map(({ documentId, evidence }) => [documentId, evidence.kind])).toEqual([
      ['first', 'part'],
      ['second', 'part'],
    ]);
  });

  it('is nobody when the texts only share a topic, however near their vectors are', () => {
    expect(
      findAnchors(lost, [candidate('other', `${sentence('a', 8)} ${sentence('n', 30)}`, 0.999)]),
    ).toEqual([]);
    expect(findAnchors(lost, [candidate('tiny', 'a0 a1 a2', 0.999)])).toEqual([]);
    expect(findAnchors('', [candidate('empty', '')])).toEqual([]);
  });

  it('never has evidence below the stated bound', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    const text = fc.array(word, { maxLength: 30 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 6 }), (original, chunks) => {
        const shares = findAnchors(
          original,
          chunks.map((chunk, i) => candidate(`d${i}`, chunk)),
        ).map(({ evidence }) =>
          evidence.kind === 'same_content'
            ? 1
            : evidence.kind === 'whole'
              ? evidence.ofLost
              : evidence.ofChunk,
        );
        expect(shares.every((share) => share >= 0.8)).toBe(true);
      }),
    );
  });
});

describe('a proposal', () => {
  const same = { kind: 'same_content', cosine: 1 } as const;
  const labels = [
    { queryId: 'q1', documentId: 'gone', grade: 2 },
    { queryId: 'q1', documentId: 'lost', grade: 1 },
  ];
  const proposals = proposeLabels(
    labels,
    new Map([
      ['gone', [{ documentId: 'new', evidence: same }]],
      ['lost', []],
    ]),
  );

  it('is made for labels with an anchor alone, and has a number to accept it by', () => {
    expect(proposals).toEqual([
      { number: 1, queryId: 'q1', from: 'gone', to: [{ documentId: 'new', evidence: same }], grade: 2 },
    ]);
  });

  it('moves the grade when it is accepted, and leaves everything else', () => {
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
