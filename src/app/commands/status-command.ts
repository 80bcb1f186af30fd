/** What `recalld status` reads from the database of the config. */

import type { SegmentScore } from '../../golden/rules/run.ts';
import type { GoldenRuns } from '../../golden/sql/golden-runs.ts';
import { ALL_SEGMENT } from '../../model.ts';
import type { OverviewJson } from '../../status/overview-schema.ts';
import type { GoldenSetStatus } from '../../status/pipeline-status.ts';
import { readStatuses } from '../../status/read-status.ts';
import type { CommandSettings } from './command-store.ts';
import { withWatchedStore } from './watched-store.ts';

const RUNS_OF_TREND = 20;

/** @throws RecalldError as withWatchedStore */
export async function readOverview(settings: CommandSettings): Promise<readonly OverviewJson[]> {
  return withWatchedStore(settings, async (store) => {
    const [statuses, open] = await Promise.all([readStatuses(store), store.diagnoses.open()]);
    const overview: OverviewJson[] = [];
    for (const { pipeline, state, reasons, golden } of statuses) {
      const sets = await Promise.all(golden.map((set) => goldenSet(store.runs, pipeline, set)));
      const summary = open.find((one) => one.pipeline === pipeline)?.summary ?? null;
      overview.push({ pipeline, state, reasons, diagnosis: summary, golden_sets: sets });
    }
    return overview;
  });
}

async function goldenSet(
  runs: Pick<GoldenRuns, 'list' | 'scores'>,
  pipeline: string,
  { goldenSet: set, completed }: GoldenSetStatus,
): Promise<OverviewJson['golden_sets'][number]> {
  const headline = completed === null ? null : headlineOf(completed.scores);
  return {
    golden_set: set,
    age_seconds: completed === null ? null : Math.round(completed.ageSeconds),
    is_too_old: completed?.isTooOld ?? false,
    score:
      headline === null
        ? null
        : {
            measure: `${headline.measure}@${headline.k}`,
            mean: headline.mean,
            ci_low: headline.ciLow,
            ci_high: headline.ciHigh,
          },
    trend: headline === null ? [] : await readTrend(runs, pipeline, set, headline.k),
  };
}

/** nDCG at `k` of the last runs of a set that completed, oldest first; null for one that has no such cut-off. */
export async function readTrend(
  runs: Pick<GoldenRuns, 'list' | 'scores'>,
  pipeline: string,
  set: string,
  k: number,
): Promise<readonly (number | null)[]> {
  const found = await runs.list({ pipeline, goldenSet: set, status: 'completed', limit: RUNS_OF_TREND });
  const values = await Promise.all(
    found.map(async ({ id }) => {
      const scores = await runs.scores(id);
      return (
        scores.find((one) => one.segment === ALL_SEGMENT && one.measure === 'ndcg' && one.k === k)?.mean ??
        null
      );
    }),
  );
  return values.toReversed();
}

function headlineOf(scores: readonly SegmentScore[]): SegmentScore | null {
  const found = scores.filter(({ segment, measure }) => segment === ALL_SEGMENT && measure === 'ndcg');
  return found.toSorted((a, b) => b.k - a.k)[0] ?? null;
}
