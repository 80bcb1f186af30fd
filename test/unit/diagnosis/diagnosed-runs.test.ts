import { expect, it } from 'vitest';
import { latestEnded } from '../../../src/diagnosis/runs-around.ts';
import { aGoldenRun, aSchedule, aWatchedPipeline, NOON } from '../../support/builders.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const at = (minutes: number) => new Date(NOON.getTime() + minutes * 60_000);

it('the run that is looked at is the last that ended, however many wait behind it', async () => {
  const runs = new MemoryGoldenRuns(new SteerableClock(), new MemoryGoldenSets());
  const deps = { runs };
  const pipeline = aWatchedPipeline({ golden: [aSchedule()] });
  expect(await latestEnded(deps, pipeline, [])).toBeNull();
  runs.put(aGoldenRun({ id: 'well', startedAt: at(0) }), []);
  runs.put(aGoldenRun({ id: 'void', status: 'void', startedAt: at(1) }), []);
  runs.put(aGoldenRun({ id: 'cancelled', status: 'cancelled', startedAt: at(2) }), []);
  for (let n = 0; n < 20; n += 1)
    runs.put(aGoldenRun({ id: `waits-${n}`, status: 'running', startedAt: at(3 + n) }), []);
  expect(await latestEnded(deps, pipeline, [])).toMatchObject({ id: 'void' });
});
