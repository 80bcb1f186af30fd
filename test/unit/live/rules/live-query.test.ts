import { describe, expect, it } from 'vitest';
import { checkLiveQuery, checkOccurredAt, type LiveQuery } from '../../../../src/live/rules/live-query.ts';
import { aLiveQuery } from '../../../support/builders.ts';

const NOW = new Date('2026-11-20T12:00:00Z');

const limits = { dimensions: 2, retentionDays: 30 };
const ago = (ms: number) => new Date(NOW.getTime() - ms);

describe('a live query', () => {
  const refusals: readonly [string, Partial<LiveQuery>, string][] = [
    ['a vector of another length', { embedding: new Float32Array([1, 2, 3]) }, 'embedding_wrong_dimension'],
    ['a zero vector', { embedding: new Float32Array([0, -0]) }, 'embedding_zero'],
    ['NaN in its vector', { embedding: new Float32Array([1, Number.NaN]) }, 'embedding_not_finite'],
    [
      'an infinity in its vector',
      { embedding: new Float32Array([1, -Number.POSITIVE_INFINITY]) },
      'embedding_not_finite',
    ],
    ['a time an hour ahead', { occurredAt: ago(-3_600_000) }, 'occurred_in_future'],
    ['a time before the retention period', { occurredAt: ago(31 * 86_400_000) }, 'occurred_too_long_ago'],
  ];
  it.each(refusals)('with %s is rejected with a specific code', (_, parts, code) => {
    expect(checkLiveQuery(aLiveQuery(parts), limits, NOW)).toMatchObject({ code });
  });

  it('with a time in milliseconds instead of nanoseconds is rejected with the time that was parsed', () => {
    const occurredAt = new Date(NOW.getTime() / 1e6);
    expect(checkLiveQuery(aLiveQuery({ occurredAt }), limits, NOW)?.message).toContain(
      'occurred_at was parsed as 1970-01-01T00:29',
    );
  });

  it('for an unknown pipeline is rejected with the name of the pipeline', () => {
    expect(checkLiveQuery(aLiveQuery(), null, NOW)).toEqual({
      code: 'unknown_pipeline',
      message: 'The config has no pipeline "docs"; add it under pipelines or correct the name.',
    });
  });

  it('is accepted with a valid vector, without one, and with the first vector of its pipeline', () => {
    const vector = new Float32Array([3e38, 1e-38]);
    expect(checkLiveQuery(aLiveQuery({ embedding: vector }), limits, NOW)).toBeNull();
    expect(checkLiveQuery(aLiveQuery(), limits, NOW)).toBeNull();
    const first = aLiveQuery({ embedding: new Float32Array([1, 2, 3]) });
    expect(checkLiveQuery(first, { ...limits, dimensions: null }, NOW)).toBeNull();
  });
});

it('tolerates clocks that differ by minutes', () => {
  expect(checkOccurredAt(ago(-4 * 60_000), 30, NOW)).toBeNull();
  expect(checkOccurredAt(ago(30 * 86_400_000), 30, NOW)).toBeNull();
  expect(checkOccurredAt(null, 30, NOW)).toBeNull();
});
