/** Tallies of the feedback in a window, on a real database. */
import * as fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OpinionTally } from '../../../../src/live/rules/feedback/sentiment.ts';
import { type StoredFeedback } from '../../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic, type LiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { aSample, aStoredFeedback } from '../../../support/live-traffic.ts';

const database = useDatabase();
let traffic: LiveTraffic;

const DAY = 86_400_000;
const minutes = (count: number) => new Date(NOON.getTime() + count * 60_000);
const hour = { from: minutes(0), until: minutes(60) };

beforeAll(async () => {
  traffic = createLiveTraffic(database.pool, 'a');
  await traffic.createPartitions(new Date(NOON.getTime() - DAY));
});

beforeEach(async () => {
  await database.pool.query('truncate live_queries, feedback');
});

/** A positive rating by ada on `q1` at noon. */
const aThumb = (parts: Partial<StoredFeedback> = {}): StoredFeedback =>
  aStoredFeedback({ queryId: 'q1', userHash: 'ada', ...parts });

const up = aThumb({ id: 'f1' });
const down = aThumb({ id: 'f2', sentiment: 'negative', occurredAt: minutes(1) });

/** Stores feedback in the given order and tallies it. */
async function tally(
  feedback: readonly StoredFeedback[],
  { window = hour, keys = [] as readonly string[] } = {},
): Promise<readonly OpinionTally[]> {
  for (const one of feedback) await traffic.recordFeedback([one]);
  return traffic.opinions('docs', window, keys);
}

const thumbs = (parts: Partial<OpinionTally> = {}): OpinionTally => ({
  kind: 'thumb',
  sentiment: 'positive',
  segments: [],
  feedback: 1,
  opinions: 1,
  ...parts,
});

describe('the opinions of a window', () => {
  it.each([
    ['in order of occurrence', [up, down]],
    ['in any other order', [down, up]],
  ])('contain the latest thumb of a user who changed it, %s', async (_order, feedback) => {
    expect(await tally(feedback)).toEqual([thumbs({ sentiment: 'negative', feedback: 2 })]);
  });

  it('contain the first opinion again after the user changes back', async () => {
    const upAgain = aThumb({ id: 'f3', occurredAt: minutes(2) });
    expect(await tally([up, down, upAgain])).toEqual([thumbs({ feedback: 3 })]);
  });

  it('are not replaced by earlier feedback that arrives late', async () => {
    const late = aThumb({ id: 'f9', receivedAt: minutes(600) });
    expect(await tally([up, down, late])).toEqual([thumbs({ sentiment: 'negative', feedback: 3 })]);
  });

  it('are, if they occurred at the same time, those received last, then those with the greater id', async () => {
    const later = aThumb({ id: 'f0', sentiment: 'negative', receivedAt: minutes(1) });
    expect(await tally([later, up])).toEqual([thumbs({ sentiment: 'negative', feedback: 2 })]);
    const greater = aThumb({ id: 'g', sentiment: 'neutral', receivedAt: minutes(1) });
    expect(await tally([greater])).toEqual([thumbs({ sentiment: 'neutral', feedback: 3 })]);
  });

  it.each([
    ['users', { userHash: 'bob' }],
    ['queries', { queryId: 'q2' }],
    ['documents', { documentId: 'd2' }],
  ] as const)('are separate for two %s', async (_what, change) => {
    expect(await tally([up, aThumb({ id: 'f2', ...change })])).toEqual([thumbs({ feedback: 2, opinions: 2 })]);
  });

  it('are separate by kind and pipeline', async () => {
    const others = [aThumb({ id: 'f2', kind: 'rating' }), aThumb({ id: 'f3', pipeline: 'intranet' })];
    expect(await tally([up, ...others])).toEqual([thumbs({ kind: 'rating' }), thumbs()]);
  });

  it('distinguish documents by rank only without ids', async () => {
    const byRank = [1, 2].map((rank) => aThumb({ id: `r${rank}`, kind: 'click', rank }));
    const byName = byRank.map((click) => ({
      ...click,
      id: `n${click.rank}`,
      kind: 'copy',
      documentId: 'd1',
    }));
    expect(await tally([...byRank, ...(byName as StoredFeedback[])])).toEqual([
      thumbs({ kind: 'click', feedback: 2, opinions: 2 }),
      thumbs({ kind: 'copy', feedback: 2, opinions: 1 }),
    ]);
  });

  it('treat anonymous feedback on a query as one user', async () => {
    const anonymous = [up, down].map((feedback) => ({ ...feedback, userHash: null }));
    expect(await tally(anonymous)).toEqual([thumbs({ sentiment: 'negative', feedback: 2 })]);
  });

  it('can change beyond the cap only if they were already counted', async () => {
    expect(await tally([up, { ...down, counted: false }])).toEqual([thumbs({ sentiment: 'negative', feedback: 2 })]);
    expect(await tally([aThumb({ id: 'f3', userHash: 'bob', counted: false })])).toEqual([
      thumbs({ sentiment: 'negative', feedback: 2 }),
      thumbs({ opinions: 0 }),
    ]);
  });

  it('include the start of the window and exclude its end', async () => {
    const feedback = [-0.01, 0, 59.99, 60].map((at) =>
      aThumb({ id: `at${at}`, queryId: `at${at}`, occurredAt: minutes(at) }),
    );
    expect(await tally(feedback)).toEqual([thumbs({ feedback: 2, opinions: 2 })]);
  });

  it('are the latest within the window', async () => {
    const late = { ...down, occurredAt: minutes(50) };
    const upAgain = aThumb({ id: 'f3', occurredAt: minutes(70) });
    expect(await tally([up, late, upAgain])).toEqual([thumbs({ sentiment: 'negative', feedback: 2 })]);
    const next = { from: hour.until, until: minutes(120) };
    expect(await tally([], { window: next })).toEqual([thumbs()]);
  });
});

describe('the segments of opinions', () => {
  const query = (id: string, segments: Record<string, string>, receivedAt = NOON) =>
    aSample({ id, segments, receivedAt, traceId: null });

  it('are the segments of their queries for the given keys, even if the query is of the day before or after', async () => {
    const samples = [
      query('q1', { lang: 'en', tenant: 'a', course: 'x' }),
      query('q2', { lang: 'de' }, new Date(NOON.getTime() - DAY)),
      query('q3', { lang: 'fr' }, new Date(NOON.getTime() + DAY)),
    ];
    await traffic.record({ samples, counts: [], levels: [] });
    const feedback = ['q1', 'q2', 'q3', 'not sampled'].map((queryId) => aThumb({ id: queryId, queryId }));
    const found = await tally(feedback, { keys: ['lang', 'tenant'] });
    expect(found.map(({ segments }) => segments)).toEqual([[], ['lang=de'], ['lang=en', 'tenant=a'], ['lang=fr']]);
  });

  it('are empty without keys', async () => {
    await traffic.record({ samples: [query('q1', { lang: 'en' })], counts: [], levels: [] });
    expect(await tally([up, aThumb({ id: 'f2', queryId: 'q2' })])).toEqual([thumbs({ feedback: 2, opinions: 2 })]);
  });
});

function grouped<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

/** Reference implementation of the tally. */
function tallyByHand(list: readonly StoredFeedback[]): OpinionTally[] {
  const opinions = grouped(list, ({ queryId, kind, documentId, rank, userHash }) =>
    JSON.stringify([queryId, kind, documentId, documentId === null && rank, userHash]),
  );
  const order = ({ occurredAt, receivedAt, id }: StoredFeedback): string =>
    [occurredAt.toISOString(), receivedAt.toISOString(), id].join();
  const found = [...opinions.values()].map((said) => ({
    said,
    last: said.reduce((latest, one) => (order(one) > order(latest) ? one : latest)),
  }));
  const alike = grouped(found, ({ last }) => `${last.kind} ${last.sentiment}`);
  return [...alike.keys()].toSorted().map((key) => {
    const own = alike.get(key) ?? [];
    const [kind, sentiment] = key.split(' ') as [OpinionTally['kind'], OpinionTally['sentiment']];
    return {
      kind,
      sentiment,
      segments: [],
      feedback: own.reduce((sum, { said }) => sum + said.length, 0),
      opinions: own.filter(({ said }) => said.some(({ counted }) => counted)).length,
    };
  });
}

const aList = fc.uniqueArray(
  fc
    .record({
      id: fc.integer({ min: 1000, max: 9999 }).map(String),
      queryId: fc.constantFrom('q1', 'q2'),
      kind: fc.constantFrom('thumb' as const, 'click' as const),
      sentiment: fc.constantFrom('positive' as const, 'negative' as const),
      documentId: fc.constantFrom(null, 'd1', 'd2'),
      rank: fc.constantFrom(null, 1, 2),
      userHash: fc.constantFrom(null, 'ada', 'bob'),
      occurredAt: fc.integer({ min: 0, max: 2 }).map(minutes),
      receivedAt: fc.integer({ min: 0, max: 2 }).map(minutes),
      counted: fc.boolean(),
    })
    .map(aThumb),
  { maxLength: 30, selector: ({ id }) => id },
);

it('one opinion counts for each user, query, kind and document, in any order of feedback', async () => {
  await fc.assert(
    fc.asyncProperty(aList, async (list) => {
      await database.pool.query('truncate feedback');
      await traffic.recordFeedback(list);
      expect(await traffic.opinions('docs', hour, [])).toEqual(tallyByHand(list));
    }),
    { numRuns: 25 },
  );
});
