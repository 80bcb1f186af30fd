import { afterAll, describe, expect, it } from 'vitest';
import { createComputePool } from '../../../src/app/compute.ts';
import { createGoldenStatistics, statisticsOfCommands } from '../../../src/golden/golden-statistics.ts';
import { noStatistics } from '../../../src/golden/rules/compare-golden-runs.ts';
import { groupBySegment } from '../../../src/golden/rules/golden-set.ts';
import { measureReruns } from '../../../src/golden/rules/run-noise.ts';
import { scoreQueries } from '../../../src/golden/rules/score-run.ts';
import { anAnswer, aRerunNoise, aRunSettings, documents, goldenQueries } from '../../support/builders.ts';

const never = new AbortController().signal;
const settings = aRunSettings({ cutoffs: [1, 10], segmentKeys: ['course'], maxSegments: 5 });
/** More queries than are scored in one turn of the event loop, in seven segments, some of which are small. */
const queries = goldenQueries(620).map((query, i) => ({
  ...query,
  tags: { course: `c${i % 50 < 2 ? i % 50 : 2 + (i % 5)}` },
}));

/** The rank of each document is derived from the index of its query; some documents are not found. */
function answersOf(step: number) {
  return queries.map(({ id }, i) => {
    const rank = (i * step) % 14;
    const found = Array.from({ length: 10 }, (_, place) => (place === rank ? `d${i + 1}` : `x${place}`));
    return anAnswer({ queryId: id, documents: documents(...found) });
  });
}

const side = (step: number) => ({ queries, answers: answersOf(step), settings });
const pool = createComputePool({ threads: 1, maxWaiting: 1 });
const statistics = createGoldenStatistics(pool);
afterAll(() => pool.close());

describe('golden statistics computed in threads', () => {
  it('equal the scores and bounds computed on the main thread, digit for digit', async () => {
    const dead = new Set(['q3', 'q50']);
    const scored = await statistics.scoreRun(queries, answersOf(3), settings, dead, never);
    expect(scored).toEqual(await statisticsOfCommands.scoreRun(queries, answersOf(3), settings, dead, never));
    expect(new Set(scored.scores.map(({ ciMethod }) => ciMethod))).toEqual(new Set(['wilson', 't', 'bca']));
    expect(scored.segmentsOverflow).toBe(2);
  });

  it('equal the comparisons made on the main thread, digit for digit, with retriever noise and stale labels', async () => {
    const means = { 'ndcg@10': queries.map(() => 0.5) };
    const known = { ...noStatistics, noise: { all: { 'ndcg@10': aRerunNoise() } }, means };
    const stale = new Set(['q7']);
    const compared = await statistics.compareRuns(side(3), side(5), stale, known, never);
    expect(compared).toEqual(await statisticsOfCommands.compareRuns(side(3), side(5), stale, known, never));
    expect(compared?.some(({ pMethod }) => pMethod === 'monte_carlo')).toBe(true);
    expect(compared?.some(({ pMethod }) => pMethod === 'exact')).toBe(true);
  });

  it('are null for runs without a common cutoff', async () => {
    const other = { ...side(5), settings: { ...settings, cutoffs: [3] } };
    expect(await statistics.compareRuns(side(3), other, new Set(), noStatistics, never)).toBeNull();
  });

  it('include the noise and the means of reruns', async () => {
    const runs = [answersOf(3), answersOf(5), answersOf(9)];
    const scored = runs.map((answers) => scoreQueries(queries, answers, settings));
    const { segments } = groupBySegment(queries, settings.segmentKeys, settings.maxSegments);
    expect(await statistics.measureReruns(queries, runs, settings, never)).toEqual(
      measureReruns(
        scored[0]?.keys ?? [],
        scored.map(({ columns }) => columns),
        segments,
      ),
    );
  });
});

describe('the comparison of golden runs in threads', () => {
  it('leaves the event loop free for other work', async () => {
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    turn();
    await statistics.compareRuns(side(3), side(5), new Set(), noStatistics, never);
    isDone = true;
    expect(turns).toBeGreaterThan(100);
  });

  it('is refused when too many comparisons wait, and can be retried', async () => {
    const waiting = Array.from({ length: 4 }, () =>
      statistics.compareRuns(side(3), side(5), new Set(), noStatistics, never),
    );
    const refused = (await Promise.allSettled(waiting)).filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([
      expect.objectContaining({ reason: expect.objectContaining({ code: 'overloaded', retryable: true }) }),
      expect.objectContaining({ reason: expect.objectContaining({ code: 'overloaded', retryable: true }) }),
    ]);
  });

  it('rejects with the reason when it is cancelled', async () => {
    const stop = new AbortController();
    const running = statistics.compareRuns(side(3), side(5), new Set(), noStatistics, stop.signal);
    stop.abort(new Error('the daemon stops'));
    await expect(running).rejects.toThrow('the daemon stops');
  });
});
