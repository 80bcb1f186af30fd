/** The end of a sentinel run: does it stand, against the last full run over the same queries? */

import type { Clock } from '../../clock.ts';
import type { GoldenQuery } from '../../model.ts';
import type { GoldenRun } from '../rules/run.ts';
import { judgeSentinel } from '../rules/sentinel.ts';
import type { RunEnd } from '../sql/run-results.ts';
import { type CompareDeps, compareStoredRuns, type StoredRuns } from './compare-stored-runs.ts';
import { endWithoutScores } from './run-end.ts';

export interface ConcludeSentinelDeps extends CompareDeps {
  readonly clock: Clock;
}

/**
 * A sentinel has no scores or checks of its own, so that nothing which reads those of full runs can take it for one. It
 * is `void` when its retriever failed it; `reason` says why it fell and is null while it stands. Queries whose labels
 * the last full run found to be stale are left out.
 */
export async function concludeSentinel(
  deps: ConcludeSentinelDeps,
  run: GoldenRun,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
): Promise<RunEnd> {
  const [answers, outcomes, full] = await Promise.all([
    deps.runs.answers(run.id),
    deps.runs.outcomes(run.id),
    lastFullRun(deps, run),
  ]);
  const side = { queries, answers, settings: run.settings };
  const stale = full === null ? [] : (await deps.runs.staleLabels(full.id)).map(({ queryId }) => queryId);
  const differences =
    full === null ? null : await compareStoredRuns(deps, full, run, new Set(stale), {}, signal, side);
  const verdict = judgeSentinel(outcomes, run.settings.errorBudget, differences);
  const now = deps.clock.now();
  if (verdict.kind === 'stands') return endWithoutScores('completed', null, now);
  return endWithoutScores(verdict.cause === 'failures' ? 'void' : 'completed', verdict.reason, now);
}

/** The latest completed full run of the version that the sentinel asks. */
async function lastFullRun(
  { runs }: Pick<StoredRuns, 'runs'>,
  { pipeline, goldenSet, goldenSetVersion: version }: GoldenRun,
): Promise<GoldenRun | null> {
  const [last] = await runs.list({ pipeline, goldenSet, version, status: 'completed', limit: 1 });
  return last ?? null;
}
