import { expect, it } from 'vitest';
import type { LivePlan } from '../../../../src/live/context.ts';
import { summarizeFeedback } from '../../../../src/live/edge/live-routes.ts';
import type { OpinionTally } from '../../../../src/live/rules/feedback/sentiment.ts';
import { contextOf } from '../../../support/context.ts';
import { hours } from '../../../support/measurements.ts';

const window = { from: hours(-1), until: hours(1) };
const plan: LivePlan = {
  pipeline: 'docs',
  segmentKeys: ['lang'],
  maxSegments: 1,
  windowMs: 0,
  baselineMs: 0,
  idleMs: 0,
  expectsEpisodes: false,
  samplesAll: true,
};

/** A tally of one positive thumb for an English query. */
function aTally(parts: Partial<OpinionTally> = {}): OpinionTally {
  return {
    kind: 'thumb',
    sentiment: 'positive',
    segments: ['lang=en'],
    feedback: 1,
    opinions: 1,
    ...parts,
  };
}

function summaryOf(tallies: readonly OpinionTally[]) {
  const { db } = contextOf({ db: { live: { traffic: { opinions: async () => [...tallies] } } } });
  return summarizeFeedback(db, plan, window);
}

it('counts all feedback, but excludes superseded and capped feedback from the opinions', async () => {
  const changed = aTally({ sentiment: 'negative', feedback: 2 });
  const beyondCap = aTally({ opinions: 0 });
  const { kinds, opinions } = await summaryOf([changed, beyondCap]);
  expect(kinds).toEqual([{ kind: 'thumb', feedback: 3, positive: 0, negative: 1, neutral: 0 }]);
  expect(opinions.all.get('all')).toMatchObject({ kind: 'ratio', value: 0, n: 1 });
});

it('reports explicit and implicit feedback separately for each configured segment', async () => {
  const { opinions } = await summaryOf([
    aTally({ feedback: 2, opinions: 2 }),
    aTally({ segments: ['lang=de'] }),
    aTally({ kind: 'abandonment', sentiment: 'negative', segments: [] }),
  ]);
  expect([...opinions.all.keys()].toSorted()).toEqual(['all', 'lang=en', 'other']);
  expect(opinions.explicit.get('all')).toMatchObject({ value: 1, n: 3 });
  expect(opinions.implicit.get('all')).toMatchObject({ value: 0, n: 1 });
});

it('reports insufficient data if there are no opinions', async () => {
  const { kinds, opinions } = await summaryOf([]);
  expect(kinds).toEqual([]);
  expect(opinions.all.get('all')).toMatchObject({ kind: 'insufficient_data' });
});
