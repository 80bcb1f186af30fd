/** How every pipeline stands, at one glance. */

import type { Incidents } from '../diagnosis/incidents.ts';
import type { SegmentScore } from '../golden/rules/run.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import { ALL_SEGMENT, type Verdict } from '../model.ts';
import { type GoldenSetStatus, standingIncident } from './pipeline-status.ts';
import { type ReadStatusDeps, readStatuses } from './read-status.ts';

/** A pipeline, as `recalld status --json` tells it. */
export interface OverviewJson {
  readonly pipeline: string;
  /** The worst of its checks, and of what must be fresh: never `ok` by values that are too old. */
  readonly state: Verdict;
  /** Why it is not ok, worst first. */
  readonly reasons: readonly string[];
  /** What is not known although nothing is wrong. */
  readonly unknowns: readonly string[];
  /** The summary of the diagnosis that holds; null when nothing is in alarm. */
  readonly diagnosis: string | null;
  readonly golden_sets: readonly {
    readonly golden_set: string;
    /** Of the last run that completed; null when none did. */
    readonly age_seconds: number | null;
    readonly is_too_old: boolean;
    /** nDCG at the largest cut-off. */
    readonly score: {
      readonly measure: string;
      readonly mean: number;
      readonly ci_low: number;
      readonly ci_high: number;
    } | null;
    /** The same measure over the last runs that completed, oldest first. */
    readonly trend: readonly (number | null)[];
  }[];
}

const RUNS_OF_TREND = 20;

export interface ReadOverviewDeps extends ReadStatusDeps {
  readonly runs: ReadStatusDeps['runs'] & Pick<GoldenRuns, 'scores'>;
  readonly incidents: Pick<Incidents, 'open'>;
}

export async function readOverview(deps: ReadOverviewDeps): Promise<readonly OverviewJson[]> {
  const [statuses, open] = await Promise.all([readStatuses(deps), deps.incidents.open()]);
  const overview: OverviewJson[] = [];
  for (const status of statuses) {
    const { pipeline, state, reasons, unknowns, golden } = status;
    const sets = await Promise.all(golden.map((set) => goldenSet(deps.runs, pipeline, set)));
    const summary = standingIncident(status, open)?.summary ?? null;
    const sentences = reasons.map(({ sentence }) => sentence);
    overview.push({ pipeline, state, reasons: sentences, unknowns, diagnosis: summary, golden_sets: sets });
  }
  return overview;
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
      return scores.find((one) => one.segment === ALL_SEGMENT && one.measure === 'ndcg' && one.k === k)?.mean ?? null;
    }),
  );
  return values.toReversed();
}

function headlineOf(scores: readonly SegmentScore[]): SegmentScore | null {
  const found = scores.filter(({ segment, measure }) => segment === ALL_SEGMENT && measure === 'ndcg');
  return found.toSorted((a, b) => b.k - a.k)[0] ?? null;
}
