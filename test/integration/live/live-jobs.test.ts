import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/app/config/schema.ts';
import { createDb } from '../../../src/app/database.ts';
import type { Context } from '../../../src/core/context.ts';
import { liveJobs } from '../../../src/live/live-jobs.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { NOON } from '../../support/builders.ts';
import { type ContextParts, contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { aLiveSample } from '../../support/live-rows.ts';
import { anEmbeddingFragment } from '../../support/live-traffic.ts';
import { silentLogger } from '../../support/log.ts';
import { aMeasurement, hours } from '../../support/measurements.ts';

const database = useDatabase();
const minutes = (count: number) => hours(count / 60);
const days = (count: number) => hours(24 * count);
let deps: Context;

beforeEach(async () => {
  const { pool } = database;
  deps = contextOf({
    db: createDb(pool),
    clock: new HandClock(NOON),
    logger: silentLogger,
    config: {
      pipelines: [{ name: 'docs', privacy: { retention_days: 30 } }],
      storage: { measurement_retention_days: 400, audit_retention_days: 730 },
    },
    livePlans: [],
  });
  await deps.db.live.traffic.createPartitions(NOON);
});

const run = async (name: string, parts: ContextParts = {}) =>
  liveJobs.find((job) => job.name === name)?.handle(contextOf(deps, parts), {}, new AbortController().signal);

async function partitionsOf(...tables: readonly string[]): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = any ($1::text[]::regclass[]) order by 1`,
    [tables],
  );
  return rows.map(({ name }) => name);
}

describe('the jobs of live traffic', () => {
  it('close minutes that ended more than a minute ago', async () => {
    const levels = [-3, -2, -1].map((at) => ({ pipeline: 'docs', minute: minutes(at), level: 2 }));
    const samples = levels.map(({ minute }, i) => aLiveSample({ id: `q${i}`, unitHash: 0.05, receivedAt: minute }));
    await deps.db.live.traffic.record({ samples, counts: [], levels });
    await run('close-sampling-minutes');
    const { rows } = await database.pool.query('select id, level from live_queries order by id');
    expect(rows).toEqual([
      { id: 'q0', level: 2 },
      { id: 'q1', level: 0 },
      { id: 'q2', level: 0 },
    ]);
  });

  it('drop fragments whose queries did not arrive in time', async () => {
    const held = [-11, -9].map((at) => anEmbeddingFragment({ spanId: `of ${at}`, receivedAt: minutes(at) }));
    await deps.db.live.traffic.bufferFragments(held);
    await run('drop-trace-fragments');
    const { rows } = await database.pool.query('select span_id from trace_fragments');
    expect(rows).toEqual([{ span_id: 'of -9' }]);
  });

  it('create upcoming partitions, and drop data past its retention', async () => {
    await deps.db.live.traffic.createPartitions(days(-40));
    const past = [-440, -400].map((at) => ({ windowStart: days(at - 1), windowEnd: days(at), measuredAt: days(at) }));
    await createMeasurements(database.pool).record(past.map(aMeasurement));
    await run('maintain-partitions');
    expect(await partitionsOf('live_queries')).toEqual([19, 20, 21, 22, 23].map((day) => `live_queries_202611${day}`));
    expect(await partitionsOf('measurements')).toEqual(['measurements_202510', 'measurements_202611']);
  });

  it('drop other data past its retention even if one kind of data cannot be dropped', async () => {
    const past = [-440, -400].map((at) => ({ windowStart: days(at - 1), windowEnd: days(at), measuredAt: days(at) }));
    await createMeasurements(database.pool).record(past.map(aMeasurement));
    const prune = () => Promise.reject(new Error('a partition is locked'));
    const locked = { db: { live: { traffic: { ...deps.db.live.traffic, prune } } } };
    await expect(run('maintain-partitions', locked)).rejects.toThrow('a partition is locked');
    expect(await partitionsOf('measurements')).not.toContain('measurements_202509');
  });

  it('merge counts older than 32 days into hours, without loss', async () => {
    const old = days(-40).getTime();
    const counts = [0, 1, 59, 60, 38 * 1440, 38 * 1440 + 1].map((minute) => ({
      pipeline: 'docs',
      minute: new Date(old + minute * 60_000),
      outcome: 'ok' as const,
      queries: 10,
    }));
    await deps.db.live.traffic.record({ samples: [], counts, levels: [] });
    const stored = async () => {
      const { rows } = await database.pool.query<{ minute: Date; queries: string }>(
        'select minute, queries from live_query_counts order by minute',
      );
      return rows.map(({ minute, queries }) => [(minute.getTime() - old) / 60_000, Number(queries)]);
    };
    for (const _round of [1, 2]) {
      await run('maintain-partitions', {
        config: { pipelines: [{ name: 'docs', privacy: { retention_days: 100 } }] } as unknown as Config,
      });
      expect(await stored()).toEqual([
        [0, 30],
        [60, 10],
        [38 * 1440, 10],
        [38 * 1440 + 1, 10],
      ]);
    }
  });

  it('create partitions before dropping any', async () => {
    const prune = () => Promise.reject(new Error('nothing can be dropped'));
    const later = { clock: new HandClock(days(20)), db: { live: { traffic: { ...deps.db.live.traffic, prune } } } };
    await expect(run('maintain-partitions', later)).rejects.toThrow('nothing can be dropped');
    expect(await partitionsOf('live_queries', 'measurements')).toEqual(
      expect.arrayContaining(['live_queries_20261210', 'live_queries_20261213', 'measurements_202612']),
    );
  });
});
