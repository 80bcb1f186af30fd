/** A sentinel that has fallen asks for a full run at once. */

import type { Logger } from '../../logger.ts';
import type { GoldenRun } from '../rules/run.ts';
import type { GoldenTicks } from '../sql/golden-ticks.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import { createGoldenRun, type StartGoldenRunDeps } from './start-golden-run.ts';
import { isInBudget } from './tick-golden-set.ts';

export interface EscalateDeps extends Pick<StartGoldenRunDeps, 'runs' | 'clock' | 'newRunId'> {
  readonly ticks: GoldenTicks;
  readonly logger: Logger;
  /** Hands a run to the workers. */
  resume(run: GoldenRun): Promise<void>;
}

/** More sentinels in a row than a fall is looked back over. */
const MOST_IN_A_ROW = 300;

/**
 * Starts a full run of the same version when the sentinel has fallen, quiet hours or not, unless one started since the
 * fall began: that one tells what there is to tell. It may use the reserve of the day's budget.
 *
 * @returns the id of the full run, or null when there is no need or no budget for one
 */
export async function escalateSentinel(
  deps: EscalateDeps,
  sentinelId: string,
  pipeline: WatchedPipeline,
): Promise<string | null> {
  const sentinel = await deps.runs.find(sentinelId);
  if (sentinel === null || !hasFallen(sentinel)) return null;
  const golden = pipeline.golden.find(({ set }) => set === sentinel.goldenSet);
  if (golden === undefined) return null;
  const fellAt = await beginningOfFall(deps, sentinel);
  const { pipeline: name, goldenSet, goldenSetVersion: version } = sentinel;
  const [lastFull] = await deps.runs.list({ pipeline: name, goldenSet, version, limit: 1 });
  if (lastFull !== undefined && (lastFull.startedAt >= fellAt || lastFull.status === 'running')) return null;
  const size = lastFull?.queriesTotal ?? 0;
  const context = { pipeline: name, golden_set: goldenSet, sentinel: sentinel.id };
  if (!(await isInBudget(deps, pipeline, golden, 'escalation', size, size))) {
    deps.logger.error('a sentinel fell, and the budget of the day leaves no full run', context);
    return null;
  }
  const cause = `The sentinel ${sentinel.id} fell: ${sentinel.reason ?? ''}`;
  const id = await createGoldenRun(deps, pipeline, golden, version, size, {
    trigger: 'sentinel',
    scheduledFor: null,
    purpose: 'full',
    cause,
    queryIds: null,
  });
  const run = id === null ? null : await deps.runs.find(id);
  if (run === null) return null;
  deps.logger.warn('a sentinel fell; a full run looks after it', { ...context, run_id: run.id });
  await deps.resume(run);
  return run.id;
}

function hasFallen({ status, reason }: GoldenRun): boolean {
  return (status === 'completed' || status === 'void') && reason !== null;
}

/** When the first of the fallen sentinels in a row started. */
async function beginningOfFall({ runs }: EscalateDeps, sentinel: GoldenRun): Promise<Date> {
  const { pipeline, goldenSet, goldenSetVersion: version } = sentinel;
  const before = await runs.list({
    pipeline,
    goldenSet,
    version,
    purpose: 'sentinel',
    before: sentinel,
    limit: MOST_IN_A_ROW,
  });
  const ended = before.filter(({ status }) => status === 'completed' || status === 'void');
  const stood = ended.findIndex((run) => !hasFallen(run));
  const row = stood === -1 ? ended : ended.slice(0, stood);
  return row.at(-1)?.startedAt ?? sentinel.startedAt;
}
