import { beforeAll, describe, expect, it } from 'vitest';
import { readLiveWindow } from '../../../src/live/read-live-window.ts';
import { createLiveTraffic } from '../../../src/live/sql/live-traffic.ts';
import { createLiveWindows } from '../../../src/live/sql/live-windows.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { NOON } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { aStoredClick, liveSamples } from '../../support/live-rows.ts';
import { recordLog } from '../../support/log.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
let pipelines = 0;

beforeAll(() => createLiveTraffic(database.pool, 'a').createPartitions(NOON));

/** Stores queries of a separate pipeline and clicks on their results, and returns a function that reads both. */
async function aReader(
  queries: readonly LiveSample[],
  { mostSamples = 1000, clicks = [] as readonly Parameters<typeof aStoredClick>[0][] } = {},
) {
  const pipeline = `docs-${(pipelines += 1)}`;
  const traffic = createLiveTraffic(database.pool, 'a');
  await traffic.record({ samples: queries.map((query) => ({ ...query, pipeline })), counts: [], levels: [] });
  await traffic.recordFeedback(clicks.map((click, index) => aStoredClick({ id: `f${index}`, ...click, pipeline })));
  const { logger, entries } = recordLog();
  const abort = new AbortController();
  const deps = contextOf({
    db: { live: { windows: createLiveWindows(database.pool) } },
    logger,
    maxSamples: mostSamples,
  });
  const window = { pipeline, from: hours(-24), until: NOON };
  const read = (keys: readonly string[] = []) => readLiveWindow(deps, window, keys, abort.signal);
  return { pipeline, entries, abort, read };
}

const [query] = liveSamples(1, () => ({ id: 'q1', unitHash: 0.25 })) as [LiveSample];
const robots = (unitHash: number) => liveSamples(500, (i) => ({ id: `r${i}`, unitHash }));

describe('reading a window of live queries', () => {
  it('returns each sample with its clicks, outcome and configured tags', async () => {
    const soon = { occurredAt: new Date(hours(-2).getTime() + 60_000) };
    const { read } = await aReader(
      [
        { ...query, segments: { lang: 'en', tenant: 'acme' } },
        { ...query, id: 'q2', outcome: 'empty', results: [], probability: 1, keepReason: 'zero_results' },
      ],
      { clicks: [soon, { ...soon, documentId: null, rank: 2 }, { ...soon, documentId: 'd9' }, { occurredAt: NOON }] },
    );
    expect(await read(['lang', 'course'])).toEqual({
      queries: [
        {
          cluster: 0.25,
          probability: 0.5,
          shown: 2,
          clickedRanks: [1, 2],
          occurredAtMs: hours(-2).getTime(),
          outcome: 'ok',
          context: null,
          latencyMs: 12,
          stages: [],
          calibration: 1,
          tags: { lang: 'en' },
        },
        {
          cluster: 0.25,
          probability: 1,
          shown: 0,
          clickedRanks: [],
          occurredAtMs: hours(-2).getTime(),
          outcome: 'empty',
          context: null,
          latencyMs: 12,
          stages: [],
          calibration: 1,
          tags: {},
        },
      ],
      arrived: 0,
      isCertain: false,
      halvings: 0,
      samples: 2,
      steps: 0,
      clicks: { counted: 2, notShown: 1, late: 1 },
    });
  });

  it('does not mistake inherited properties for tags', async () => {
    const { read } = await aReader([query]);
    expect((await read(['constructor', '__proto__'])).queries[0]?.tags).toEqual({});
  });

  it('is certain only if every rate was 1 and nothing was sampled upstream', async () => {
    const isCertain = async (parts: (index: number) => Partial<LiveSample>) =>
      (await (await aReader(liveSamples(3, parts))).read()).isCertain;
    const certain = { probability: 1, rateProbability: 1 };
    expect(await isCertain(() => certain)).toBe(true);
    expect(await isCertain((i) => ({ ...certain, probability: i === 1 ? 0.5 : 1 }))).toBe(false);
    expect(await isCertain(() => ({ probability: 1, rateProbability: 0.5, keepReason: 'error' }))).toBe(false);
  });

  it('halves a large window, doubles the weights, and logs it', async () => {
    const { pipeline, entries, read } = await aReader(liveSamples(1000), { mostSamples: 300 });
    const { queries, halvings, samples: all, isCertain } = await read();
    expect({ halvings, all, isCertain }).toEqual({ halvings: 2, all: 1000, isCertain: false });
    expect(queries).toHaveLength(250);
    const volume = queries.reduce((sum, { probability }) => sum + 1 / probability, 0);
    expect(volume).toBe(2000);
    expect(entries).toEqual([
      {
        level: 'warn',
        message: 'measuring only part of the live queries, because the window is too large',
        fields: { pipeline, samples: 1000, read: 250 },
      },
    ]);
  });

  it('keeps halving when one session exceeds twice the limit', async () => {
    const { read } = await aReader([...liveSamples(100), ...robots(0.1)], { mostSamples: 200 });
    const { queries, halvings } = await read();
    expect(halvings).toBe(3);
    expect(queries).toHaveLength(12);
  });

  it('fails for a window that cannot be reduced', async () => {
    const { pipeline, read } = await aReader(robots(0), { mostSamples: 200 });
    await expect(read()).rejects.toThrow(`cannot reduce the samples of ${pipeline} to 200`);
  });

  it('stops immediately when it is aborted', async () => {
    const { abort, read } = await aReader(liveSamples(10));
    abort.abort(new Error('the daemon stops'));
    await expect(read()).rejects.toThrow('the daemon stops');
  });
});
