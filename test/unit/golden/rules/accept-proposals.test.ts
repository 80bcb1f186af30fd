import { describe, expect, it } from 'vitest';
import { matchAcceptances } from '../../../../src/golden/rules/labels.ts';

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

describe('the acceptance of a proposal', () => {
  it('takes the chunks that the person kept', () => {
    const { accepted, unknown } = matchAcceptances([proposal], [{ queryId: 'q1', from: 'gone', to: ['b'] }]);
    expect(accepted).toEqual([{ ...proposal, to: [{ documentId: 'b', evidence }] }]);
    expect(unknown).toEqual([]);
  });

  it('is refused when the proposal, or a chunk of it, is proposed no more', () => {
    const acceptances = [
      { queryId: 'q1', from: 'gone', to: ['a', 'c'] },
      { queryId: 'q2', from: 'gone', to: ['a'] },
    ];
    expect(matchAcceptances([proposal], acceptances)).toEqual({ accepted: [], unknown: acceptances });
  });
});
