import { describe, expect, it } from 'vitest';
import type { GoldenRun } from '../../../../src/golden/rules/run.ts';
import { cancelGoldenRun, recoverGoldenRuns } from '../../../../src/golden/runs/end-golden-run.ts';
import { aGoldenRun, anAnswer, NOON } from '../../../support/builders.ts';
import { MemoryGoldenRuns } from '../../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../../support/memory-golden-sets.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

/** Recovers `run` at so many seconds after its start. */
async function recover(
  run: GoldenRun,
  afterSeconds: number,
  prepare: (runs: MemoryGoldenRuns) => void = () => undefined,
) {
  const clock = new SteerableClock(run.startedAt);
  const runs = new MemoryGoldenRuns(clock);
  runs.put(run, [anAnswer()]);
  await clock.advance(afterSeconds * 1000);
  prepare(runs);
  const resumed: string[] = [];
  const logger = new MemoryLogger();
  await recoverGoldenRuns({
    runs,
    clock,
    logger,
    isWatched: (pipeline) => pipeline === 'docs',
    resume: async ({ id }) => {
      resumed.push(id);
    },
  });
  return { resumed, logger, run: await runs.find(run.id), end: runs.endOf(run.id) };
}

describe('a golden run that nobody works on', () => {
  it('is resumed', async () => {
    const { resumed, run } = await recover(aGoldenRun(), 60);
    expect(resumed).toEqual(['run-1']);
    expect(run?.status).toBe('running');
  });

  it('is left alone while it may still be on its way through the queue', async () => {
    expect((await recover(aGoldenRun(), 4)).resumed).toEqual([]);
    expect((await recover(aGoldenRun(), 5)).resumed).toEqual(['run-1']);
  });

  it('is failed when its deadline has passed, with the deadline as the reason', async () => {
    const { resumed, run, end, logger } = await recover(
      aGoldenRun({ deadlineAt: new Date(NOON.getTime() + 600_000) }),
      601,
    );
    expect(resumed).toEqual([]);
    expect(run).toMatchObject({
      status: 'failed',
      reason: 'It did not end by its deadline, 2026-11-20T12:10:00.000Z.',
    });
    expect(end).toMatchObject({ scores: [], checks: [], finishedAt: new Date(NOON.getTime() + 601_000) });
    expect(logger.lines.map(({ level }) => level)).toEqual(['warn']);
  });

  it('is failed when the config no longer has its pipeline, as nobody can go on with it', async () => {
    const { resumed, run } = await recover(aGoldenRun({ pipeline: 'gone' }), 60);
    expect(resumed).toEqual([]);
    expect(run).toMatchObject({
      status: 'failed',
      reason: 'Its worker died and the config has no pipeline "gone" to go on with.',
    });
  });
});

describe('a golden run that somebody works on', () => {
  it('is left alone, even past its deadline', async () => {
    const { resumed, run } = await recover(
      aGoldenRun({ deadlineAt: NOON }),
      60,
      (runs) => void runs.hold('run-1', 'worker', 15),
    );
    expect(resumed).toEqual([]);
    expect(run?.status).toBe('running');
  });
});

describe('a golden run that has ended', () => {
  it('is left alone', async () => {
    const { resumed, run } = await recover(aGoldenRun({ status: 'completed' }), 60);
    expect(resumed).toEqual([]);
    expect(run?.status).toBe('completed');
  });
});

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
