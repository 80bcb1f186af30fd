import { expect, it } from 'vitest';
import { cancelGoldenRun } from '../../../../src/golden/runs/end-golden-run.ts';
import { aGoldenRun, NOON } from '../../../support/builders.ts';
import { MemoryGoldenRuns } from '../../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

function parts() {
  const clock = new SteerableClock();
  return { clock, runs: new MemoryGoldenRuns(clock, new MemoryGoldenSets()) };
}

it('a running run is ended as cancelled, with the reason', async () => {
  const deps = parts();
  deps.runs.put(aGoldenRun({ status: 'running', finishedAt: null }));
  expect(await cancelGoldenRun(deps, 'run-1')).toMatchObject({
    status: 'cancelled',
    reason: 'It was cancelled by hand.',
  });
});

it('a run that has ended stays as it is, and one that never was is told apart from it', async () => {
  const deps = parts();
  deps.runs.put(aGoldenRun({ status: 'completed', finishedAt: NOON }));
  await expect(cancelGoldenRun(deps, 'run-1')).rejects.toMatchObject({ code: 'run_not_running' });
  expect(await deps.runs.find('run-1')).toMatchObject({ status: 'completed' });
  await expect(cancelGoldenRun(deps, 'run-2')).rejects.toMatchObject({ code: 'run_unknown' });
});
