import { expect, it } from 'vitest';
import type { JudgedFeedback } from '../../../../src/core/feedback/positive-ratio.ts';
import { summarizeFeedback } from '../../../../src/pipeline/live/feedback-summary.ts';
import { NOON } from '../../../support/builders.ts';
import { hours } from '../../../support/measurements.ts';

const window = { from: hours(-1), until: hours(1) };
const source = { pipeline: 'docs', segmentKeys: ['lang'], maxSegments: 1 };

/** A thumb up of `ann` on `q1`, in English. */
function aThumb(parts: Partial<JudgedFeedback> = {}): JudgedFeedback {
  return {
    id: 'f1',
    pipeline: 'docs',
    queryId: 'q1',
    kind: 'thumb',
    documentId: null,
    rank: null,
    author: 'ann',
    occurredAt: NOON,
    receivedAt: NOON,
    isCounted: true,
    sentiment: 'positive',
    segments: ['lang=en'],
    ...parts,
  };
}

function summaryOf(feedback: readonly JudgedFeedback[]) {
  return summarizeFeedback({ feedback: async () => feedback }, source, window);
}

it('counts the latest opinion of each user, and all feedback beside it', async () => {
  const changed = aThumb({ id: 'f2', sentiment: 'negative', occurredAt: hours(0.5) });
  const beyondCap = aThumb({ id: 'f3', queryId: 'q2', isCounted: false });
  const { kinds, opinions } = await summaryOf([aThumb(), changed, beyondCap]);
  expect(kinds).toEqual([{ kind: 'thumb', feedback: 3, positive: 0, negative: 1, neutral: 0 }]);
  expect(opinions.all.get('all')).toMatchObject({ kind: 'ratio', value: 0, n: 1 });
});

it('tells what users said from what they did, within the segments of the config', async () => {
  const { opinions } = await summaryOf([
    aThumb(),
    aThumb({ id: 'f2', queryId: 'q2', segments: ['lang=en'] }),
    aThumb({ id: 'f3', queryId: 'q3', segments: ['lang=de', 'tenant=a'] }),
    aThumb({ id: 'f4', queryId: 'q4', kind: 'abandonment', sentiment: 'negative', segments: [] }),
  ]);
  expect([...opinions.all.keys()].toSorted()).toEqual(['all', 'lang=en', 'other']);
  expect(opinions.explicit.get('all')).toMatchObject({ value: 1, n: 3 });
  expect(opinions.implicit.get('all')).toMatchObject({ value: 0, n: 1 });
});

it('has no ratio without an opinion', async () => {
  const { kinds, opinions } = await summaryOf([]);
  expect(kinds).toEqual([]);
  expect(opinions.all.get('all')).toMatchObject({ kind: 'insufficient_data' });
});
