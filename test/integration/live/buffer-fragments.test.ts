import { describe, expect, it } from 'vitest';
import { createFragmentBuffer } from '../../../src/live/live-ingest.ts';
import { createPersonalData } from '../../../src/live/privacy/personal-data.ts';
import type { TraceFragment } from '../../../src/live/rules/otel/trace-fragment.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { MemoryMeter } from '../../support/memory-telemetry.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const database = useDatabase();
const traceId = '5b8efff798038103d269b633813fc60c';
const place = { traceId, spanId: '0000000000000001', endedAtUnixNano: 1n, pipeline: 'docs', within: null };

const anEmbedding = (parts: Partial<TraceFragment & { vector: Float32Array; text: string | null }> = {}) =>
  ({
    ...place,
    kind: 'embedding',
    text: 'mail ann@example.com',
    vector: Float32Array.of(1, 2),
    model: 'e5',
    ...parts,
  }) as TraceFragment;
const aPerson = (parts: Partial<TraceFragment> = {}) =>
  ({ ...place, kind: 'person', sessionId: 's', userId: 'ann', ...parts }) as TraceFragment;
const aRerank = (parts: Partial<TraceFragment> = {}) =>
  ({
    ...place,
    kind: 'rerank',
    text: 'mail ann@example.com',
    topK: 1,
    results: [{ id: 'a', score: 1 }],
    ...parts,
  }) as TraceFragment;

/** A buffer for the pipelines `docs`, with vectors of two dimensions, and `private`, which stores no text. */
function aBuffer(budget = { bytesPerMinute: 1e6, perTrace: 100 }) {
  const traffic = createLiveTraffic(database.pool, 'a');
  const clock = new SteerableClock();
  const meter = new MemoryMeter();
  const key = 'a key of at least sixteen bytes';
  const personalData = (text: 'redact' | 'hash') =>
    createPersonalData({
      pipeline: 'docs',
      privacy: { text, patterns: [] },
      key,
      thread: { redact: ({ text: long }) => Promise.resolve(long) },
      meter,
      logger: silentLogger,
      clock,
    });
  const pipelines = new Map([
    ['docs', { limits: { dimensions: 2, retentionDays: 30 }, personalData: personalData('redact') }],
    ['private', { limits: { dimensions: null, retentionDays: 30 }, personalData: personalData('hash') }],
  ]);
  const context = contextOf({ db: { live: { traffic } }, clock, meter });
  const buffer = createFragmentBuffer(context, pipelines, personalData('hash'), budget);
  return {
    clock,
    dropped: () => meter.increments.reduce((sum, { value }) => sum + value, 0),
    /** Buffers fragments and returns the stored rows. */
    buffered: async (...fragments: readonly TraceFragment[]): Promise<Record<string, unknown>[]> => {
      await buffer(fragments);
      const { rows } = await database.pool.query<Record<string, unknown>>(
        `with buffered as (delete from trace_fragments returning *) select * from buffered order by trace_id, span_id, part`,
      );
      return rows;
    },
  };
}

describe('the buffered fragments of a span', () => {
  it('follow the privacy settings of the pipeline', async () => {
    const { buffered } = aBuffer();
    const [redacted, hashed, person] = await buffered(anEmbedding(), anEmbedding({ pipeline: 'private' }), aPerson());
    expect(redacted).toMatchObject({ text: 'mail [EMAIL]', text_hash: null, embedder_version: 'e5' });
    expect(hashed).toMatchObject({ text: null, text_hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(person?.['user_hash']).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify([redacted, hashed, person])).not.toContain('ann');
  });

  it('have no text and no vector without a pipeline', async () => {
    const { buffered } = aBuffer();
    const foreign = { pipeline: 'unknown' };
    const kept = await buffered(anEmbedding(foreign), aRerank({ pipeline: null }), aPerson(foreign));
    expect(kept).toMatchObject([
      { kind: 'rerank', pipeline: null, text: null, text_hash: null, results: [['a', 1]] },
      { kind: 'person', pipeline: null, session_hash: expect.any(String), trace_hash: expect.any(String) },
    ]);
  });

  it('have no vector whose dimensions differ from those of the pipeline', async () => {
    const { buffered } = aBuffer();
    expect(await buffered(anEmbedding({ vector: Float32Array.of(1, 2, 3) }), aPerson())).toMatchObject([
      { kind: 'person' },
    ]);
  });

  it('are numbered per span, with the same numbers in a retry', async () => {
    const { buffered } = aBuffer();
    const parts = async () =>
      (await buffered(anEmbedding(), anEmbedding({ text: 'other' }), anEmbedding({ spanId: '2' }))).map(
        ({ part }) => part,
      );
    expect(await parts()).toEqual([0, 1, 0]);
    expect(await parts()).toEqual([0, 1, 0]);
  });

  it('are limited to the latest per trace and in size per minute, and dropped fragments are counted', async () => {
    const { buffered, dropped, clock } = aBuffer({ bytesPerMinute: 1600, perTrace: 2 });
    const spans = ['1', '2', '3'].map((spanId) => aPerson({ spanId }));
    expect(await buffered(...spans)).toMatchObject([{ span_id: '2' }, { span_id: '3' }]);
    expect(dropped()).toBe(1);
    expect(await buffered(...['a', 'b'].map((other) => aPerson({ traceId: other })))).toHaveLength(1);
    expect(dropped()).toBe(2);
    await clock.advance(60_000);
    expect(await buffered(aPerson())).toHaveLength(1);
  });
});
