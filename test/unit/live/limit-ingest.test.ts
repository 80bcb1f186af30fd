import { expect, it } from 'vitest';
import { limitIngest } from '../../../src/live/limit-ingest.ts';
import type { LiveQuery } from '../../../src/live/rules/live-query.ts';
import { unknownPipeline } from '../../../src/live/rules/live-query.ts';

const aQuery = (id: string, pipeline: string) => ({ id, pipeline }) as LiveQuery;

/** Stores everything but the query `bad`. */
function anIngest() {
  const stored: string[] = [];
  return {
    stored,
    async ingestQueries(queries: readonly LiveQuery[]) {
      const rejected = queries.flatMap(({ id }, index) =>
        id === 'bad' ? [{ index, code: 'invalid_field' as const, message: 'bad' }] : [],
      );
      stored.push(...queries.flatMap(({ id }) => (id === 'bad' ? [] : [id])));
      return { accepted: queries.length - rejected.length, sampled: 0, duplicates: 0, rejected };
    },
    ingestFeedback: async () => ({ accepted: 0, duplicates: 0, rejected: [] }),
  };
}

it('stores items of its pipelines, and reports the others at their positions, as for unknown pipelines', async () => {
  const ingest = anIngest();
  const batch = [
    aQuery('a', 'wiki'),
    aQuery('b', 'docs'),
    aQuery('bad', 'docs'),
    aQuery('c', 'wiki'),
    aQuery('d', 'docs'),
  ];
  const report = await limitIngest(ingest, ['docs']).ingestQueries(batch);
  expect(ingest.stored).toEqual(['b', 'd']);
  expect(report).toEqual({
    accepted: 2,
    sampled: 0,
    duplicates: 0,
    rejected: [
      { index: 0, ...unknownPipeline('wiki') },
      { index: 2, code: 'invalid_field', message: 'bad' },
      { index: 3, ...unknownPipeline('wiki') },
    ],
  });
});

it('changes nothing for a key of all pipelines', () => {
  const ingest = anIngest();
  expect(limitIngest(ingest, null)).toBe(ingest);
});
