import { describe, expect, it } from 'vitest';
import { readLiveWindow } from '../../../src/live/read-live-window.ts';
import { NOON } from '../../support/builders.ts';
import { aClick, aSample, hoursAgo, samples } from '../../support/live-samples.ts';
import { recordLog } from '../../support/log.ts';
import { MemoryLiveWindows } from '../../support/memory-live-windows.ts';

const window = { pipeline: 'docs', from: hoursAgo(24), until: NOON };

function aReader(queries: readonly ReturnType<typeof aSample>[], mostSamples = 1000) {
  const windows = new MemoryLiveWindows();
  windows.queriesOf.set('docs', [...queries]);
  const { logger, entries } = recordLog();
  const abort = new AbortController();
  const read = (keys: readonly string[] = []) =>
    readLiveWindow({ windows, logger, mostSamples }, window, keys, abort.signal);
  return { windows, entries, abort, read };
}

describe('reading a window of live queries', () => {
  it('gives each sample its clicks, its outcome and the tags that are measured', async () => {
    const { windows, read } = aReader([
      aSample({ segments: { lang: 'en', tenant: 'acme' } }),
      aSample({ id: 'q2', outcome: 'empty', documentIds: [], probability: 1 }),
    ]);
    windows.clicksOf.set('docs', [
      aClick(),
      aClick({ documentId: null, rank: 2 }),
      aClick({ documentId: 'd9' }),
      aClick({ occurredAt: NOON }),
    ]);
    expect(await read(['lang', 'course'])).toEqual({
      queries: [
        {
          cluster: 0.25,
          probability: 0.5,
          shown: 2,
          clickedRanks: [1, 2],
          occurredAtMs: hoursAgo(2).getTime(),
          outcome: 'ok',
          context: null,
          stages: [],
          calibration: 1,
          tags: { lang: 'en' },
        },
        {
          cluster: 0.25,
          probability: 1,
          shown: 0,
          clickedRanks: [],
          occurredAtMs: hoursAgo(2).getTime(),
          outcome: 'empty',
          context: null,
          stages: [],
          calibration: 1,
          tags: {},
        },
      ],
      isCertain: false,
      halvings: 0,
      samples: 2,
      clicks: { counted: 2, notShown: 1, late: 1 },
    });
  });

  it('takes no property that every object has for a tag', async () => {
    const { read } = aReader([aSample()]);
    expect((await read(['constructor', '__proto__'])).queries[0]?.tags).toEqual({});
  });

  it('is certain of a window in which every rate was 1, and of none that lacked something upstream', async () => {
    const certain = { probability: 1, rateProbability: 1 };
    expect((await aReader(samples(3, () => certain)).read()).isCertain).toBe(true);
    const upstream = samples(3, (i) => ({ ...certain, probability: i === 1 ? 0.5 : 1 }));
    expect((await aReader(upstream).read()).isCertain).toBe(false);
    const alwaysKept = samples(3, () => ({ probability: 1, rateProbability: 0.5 }));
    expect((await aReader(alwaysKept).read()).isCertain).toBe(false);
  });

  it('halves what is too much, raises its weight by as much, and says so', async () => {
    const { entries, read } = aReader(samples(1000), 300);
    const { queries, halvings, samples: all, isCertain } = await read();
    expect({ halvings, all, isCertain }).toEqual({ halvings: 2, all: 1000, isCertain: false });
    expect(queries).toHaveLength(250);
    const volume = queries.reduce((sum, { probability }) => sum + 1 / probability, 0);
    expect(volume).toBe(2000);
    expect(entries).toEqual([
      {
        level: 'warn',
        message: 'a window of live queries is too large to be read whole, so a part of it is measured',
        fields: { pipeline: 'docs', samples: 1000, read: 250 },
      },
    ]);
  });

  it('halves on when one session alone is more than twice the limit', async () => {
    const robot = Array.from({ length: 500 }, (_, i) => aSample({ id: `r${i}`, cluster: 0.1 }));
    const { read } = aReader([...samples(100), ...robot], 200);
    const { queries, halvings } = await read();
    expect(halvings).toBe(3);
    expect(queries).toHaveLength(12);
  });

  it('gives up on a window that does not become smaller', async () => {
    const robot = Array.from({ length: 500 }, (_, i) => aSample({ id: `r${i}`, cluster: 0 }));
    await expect(aReader(robot, 200).read()).rejects.toThrow('the samples of docs do not come down to 200');
  });

  it('stops at once when it is told to', async () => {
    const { abort, read } = aReader(samples(10));
    abort.abort(new Error('the daemon stops'));
    await expect(read()).rejects.toThrow('the daemon stops');
  });
});
