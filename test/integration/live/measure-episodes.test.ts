/** Episodes of agents with known behavior go through sampling, PostgreSQL and the measuring job. */
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/core/system-clock.ts';
import type { LivePlan } from '../../../src/live/context.ts';
import { measureLiveTraffic } from '../../../src/live/measure-live-traffic.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { createLiveWindows } from '../../../src/live/sql/live-windows.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { createMeasurements } from '../../../src/measures/measurements.ts';
import { documents, NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { aLiveSample } from '../../support/live-rows.ts';
import { silentLogger } from '../../support/log.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
let pipelines = 0;
const MINUTE_MS = 60_000;

beforeAll(async () => {
  const traffic = createLiveTraffic(database.pool, 'me');
  for (const day of [-2, -1, 0]) await traffic.createPartitions(hours(24 * day));
});

/**
 * Stores the samples for a separate pipeline. Returns the pipeline's episode and rewrite measures at noon, keyed by
 * name: the newest measurement of each measure, or the reason why it has no data.
 */
async function measured(samples: readonly Partial<LiveSample>[], parts: Partial<LivePlan> = {}, segment = 'all') {
  const pipeline = `agent-${(pipelines += 1)}`;
  const traffic = createLiveTraffic(database.pool, 'me');
  const stored = samples.map((sample) => {
    const occurredAt = sample.occurredAt ?? hours(-2);
    return aLiveSample({ rateProbability: 1, probability: 1, receivedAt: occurredAt, ...sample, occurredAt, pipeline });
  });
  await traffic.record({ samples: stored, counts: [], levels: [] });
  const measurements = createMeasurements(database.pool);
  const plan = { pipeline, windowMs: 24 * 3_600_000, baselineMs: 7 * 24 * 3_600_000, segmentKeys: ['tenant'] };
  await measureLiveTraffic(
    contextOf({
      db: { live: { windows: createLiveWindows(database.pool) }, measurements },
      clock: { ...systemClock, now: () => NOON },
      logger: silentLogger,
      livePlans: [
        { ...plan, maxSegments: 10, idleMs: 10 * MINUTE_MS, expectsEpisodes: false, samplesAll: true, ...parts },
      ],
      maxSamples: 1000,
    }),
    new AbortController().signal,
  );
  const latest = await measurements.latest(NOON);
  return Object.fromEntries(
    latest
      .filter((one) => one.pipeline === pipeline && one.segment === segment && /^(episode|rewrite)_/.test(one.measure))
      .map(({ measure, gap, newest }) => [measure, gap?.reason ?? newest]),
  );
}

/** Steps of an episode, one second apart; each list contains the documents that one step returned. */
function episode(id: string, lists: readonly (readonly string[])[], parts: Partial<LiveSample> = {}) {
  const start = (parts.occurredAt ?? hours(-2)).getTime();
  return lists.map(
    (ids, place): Partial<LiveSample> => ({
      id: `${id}-${place}`,
      episode: id,
      unitHash: 0.001 * Number(id.replace(/\D/g, '')) + 0.0005,
      results: documents(...ids),
      outcome: ids.length === 0 ? 'empty' : 'ok',
      ...parts,
      occurredAt: new Date(start + 1000 * place),
    }),
  );
}

const ten = (prefix: string) => Array.from({ length: 10 }, (_, rank) => `${prefix}${rank}`);

describe('the episodes of a pipeline', () => {
  it('are measured from their steps, and n is the number of episodes', async () => {
    const found = await measured([
      ...Array.from({ length: 10 }, (_, i) => episode(`e${i}`, [ten('a'), ten('a'), ten('b')])).flat(),
      ...Array.from({ length: 10 }, (_, i) => episode(`e${10 + i}`, [ten('a')])).flat(),
      ...Array.from({ length: 10 }, (_, i) => episode(`e${20 + i}`, [[], ten('a')])).flat(),
    ]);
    expect(found).toMatchObject({
      episode_retrievals: { value: 2, n: 30 },
      episode_repeats: { value: 1 / 3, n: 30 },
      episode_repeat_ratio: { value: 1 / 3, n: 20 },
      episode_new_documents_ratio: { value: 2 / 3, n: 20 },
      episode_empty_ratio: { value: 1 / 6, n: 30 },
      rewrite_answer_ratio: 'no_rewritten_queries',
    });
  });

  it('are measured by segment', async () => {
    const ofTenant = (tenant: string, id: string, lists: readonly (readonly string[])[]) =>
      episode(id, lists, { segments: { tenant } });
    const samples = Array.from({ length: 5 }, (_, i) => [
      ...ofTenant('acme', `e${i}`, [ten('a'), ten('b')]),
      ...ofTenant('other', `e${10 + i}`, [ten('a')]),
    ]).flat();
    expect(await measured(samples, {}, 'tenant=acme')).toMatchObject({ episode_retrievals: { value: 2, n: 5 } });
  });

  it('are closed after the idle time, and include a step that arrives late', async () => {
    const open = Array.from({ length: 5 }, (_, i) =>
      episode(`e${i}`, [ten('a')], { occurredAt: new Date(NOON.getTime() - 10 * MINUTE_MS + 1) }),
    ).flat();
    const closed = Array.from({ length: 5 }, (_, i) =>
      episode(`e${10 + i}`, [ten('a'), ten('b')], {
        occurredAt: new Date(NOON.getTime() - 11 * MINUTE_MS),
        receivedAt: NOON,
      }),
    ).flat();
    expect(await measured([...open, ...closed])).toMatchObject({ episode_retrievals: { value: 2, n: 5 } });
    expect(await measured(open)).toMatchObject({ episode_retrievals: 'no_episodes' });
  });

  it('end at a pause, even if the service uses the id again', async () => {
    const samples = Array.from({ length: 5 }, (_, i) => [
      ...episode(`e${i}`, [ten('a'), ten('b')]),
      ...episode(`e${i}`, [ten('a')], { id: `again-${i}`, occurredAt: hours(-1) }),
    ]).flat();
    expect(await measured(samples)).toMatchObject({ episode_retrievals: { value: 1.5, n: 10 } });
  });

  it('that were sampled only in part, because one step failed, are excluded', async () => {
    const whole = Array.from({ length: 5 }, (_, i) =>
      episode(`e${i}`, [ten('a'), ten('b')], { rateProbability: 0.5, probability: 0.5 }),
    ).flat();
    const part = Array.from({ length: 5 }, (_, i) =>
      episode(`e${i + 10}`, [[]], { unitHash: 0.9, rateProbability: 0.5, keepReason: 'zero_results' }),
    ).flat();
    expect(await measured([...whole, ...part])).toMatchObject({
      episode_retrievals: { value: 2, n: 5 },
      episode_empty_ratio: { value: 0 },
    });
  });

  it('have no measures if there are none, and a reason for this if a check requires them', async () => {
    const plain = Array.from({ length: 5 }, (_, i) => ({ id: `q${i}`, unitHash: i / 100 }));
    expect(await measured(plain)).toEqual({});
    expect(await measured(plain, { expectsEpisodes: true })).toMatchObject({ episode_retrievals: 'no_episodes' });
  });
});
