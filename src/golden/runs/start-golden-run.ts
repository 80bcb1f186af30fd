/** The first half of a golden run: it exists, with the set version and settings that it will be read by. */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { RecalldError } from '../../errors.ts';
import type { GoldenSetVersion } from '../rules/golden-set.ts';
import { type NewRun, runDeadlineMs } from '../rules/run.ts';
import type { GoldenRotations } from '../sql/golden-rotations.ts';
import type { GoldenRuns } from '../sql/golden-runs.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import type { GoldenSchedule, WatchedPipeline } from '../watched-pipeline.ts';
import { versionsToRun } from './rotate-golden-set.ts';

export interface StartGoldenRunDeps {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly rotations: GoldenRotations;
  readonly clock: Clock;
  newRunId(now: Date): string;
}

/** What sets a run apart from one by hand of the latest version. */
export type RunReason = Pick<NewRun, 'trigger' | 'scheduledFor' | 'purpose' | 'cause' | 'queryIds'>;

export const byHand: RunReason = {
  trigger: 'manual',
  scheduledFor: null,
  purpose: 'full',
  cause: null,
  queryIds: null,
};

/**
 * Makes a run by hand of the latest version of the set. When that version has yet to take over from an older one, the
 * run is shown, and not exported.
 *
 * @returns the run's id
 * @throws RecalldError golden_set_unknown, golden_set_empty
 */
export async function startGoldenRun(
  deps: StartGoldenRunDeps,
  pipeline: WatchedPipeline,
  schedule: GoldenSchedule,
): Promise<string> {
  const set = await latestVersion(deps.sets, schedule.set);
  await versionsToRun(deps, pipeline.name, schedule, set);
  const id = await createGoldenRun(deps, pipeline, schedule, set.version, set.queries, byHand);
  if (id === null) throw new Error('a run by hand was refused by the database');
  return id;
}

/** @throws RecalldError golden_set_unknown, golden_set_empty */
export async function latestVersion(sets: GoldenSets, name: string): Promise<GoldenSetVersion> {
  const set = await sets.latest(name);
  if (set === null) {
    throw new RecalldError(
      'golden_set_unknown',
      `There is no golden set "${name}"; import one with \`recalld golden import PATH --set ${name}\`.`,
    );
  }
  if (set.queries === 0) {
    throw new RecalldError(
      'golden_set_empty',
      `${set.name} version ${set.version} holds no queries, all were erased; import a new version.`,
    );
  }
  return set;
}

/**
 * @param queries that the run will ask
 * @returns null when the tick has a run already, or a run that a sentinel asked for is still running
 */
export async function createGoldenRun(
  deps: Pick<StartGoldenRunDeps, 'runs' | 'clock' | 'newRunId'>,
  pipeline: WatchedPipeline,
  schedule: GoldenSchedule,
  version: number,
  queries: number,
  reason: RunReason,
): Promise<string | null> {
  const startedAt = deps.clock.now();
  const id = deps.newRunId(startedAt);
  const created = await deps.runs.create({
    id,
    pipeline: pipeline.name,
    goldenSet: schedule.set,
    goldenSetVersion: version,
    ...reason,
    settings: schedule.settings,
    startedAt,
    deadlineAt: new Date(startedAt.getTime() + runDeadlineMs(queries, schedule.settings, pipeline.timeoutMs)),
  });
  return created ? id : null;
}

/** Sorts by time and is short enough to type: `20261120T154500Z-3f9a1c2b`. */
export function newRunId(now: Date): string {
  return `${now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
}
