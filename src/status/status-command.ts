/** `recalld status`: how every pipeline stands, at one glance. */
import type { Command } from 'commander';
import { type CommandSettings, commandSettings, withWatchedStore } from '../app/commands/command-store.ts';
import { type ConfiguredOptions, configuredCommand } from '../cli/configured-command.ts';
import { EXIT_CHECK_FAILED } from '../cli/exit-code.ts';
import { ageText, formatTable, printJson, printLine, sparkline, styled, verdictText } from '../cli/output.ts';
import type { SegmentScore } from '../golden/rules/run.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import { ALL_SEGMENT, type Verdict } from '../model.ts';
import { type GoldenSetStatus, standingIncident } from './pipeline-status.ts';
import { readStatuses } from './read-status.ts';

/** `recalld status --json`: how every pipeline stands. */
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

/** @throws RecalldError as withWatchedStore */
async function readOverview(settings: CommandSettings): Promise<readonly OverviewJson[]> {
  return withWatchedStore(settings, async (store) => {
    const [statuses, open] = await Promise.all([readStatuses(store), store.incidents.open()]);
    const overview: OverviewJson[] = [];
    for (const status of statuses) {
      const { pipeline, state, reasons, unknowns, golden } = status;
      const sets = await Promise.all(golden.map((set) => goldenSet(store.runs, pipeline, set)));
      const summary = standingIncident(status, open)?.summary ?? null;
      const sentences = reasons.map(({ sentence }) => sentence);
      overview.push({ pipeline, state, reasons: sentences, unknowns, diagnosis: summary, golden_sets: sets });
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
      return scores.find((one) => one.segment === ALL_SEGMENT && one.measure === 'ndcg' && one.k === k)?.mean ?? null;
    }),
  );
  return values.toReversed();
}

function headlineOf(scores: readonly SegmentScore[]): SegmentScore | null {
  const found = scores.filter(({ segment, measure }) => segment === ALL_SEGMENT && measure === 'ndcg');
  return found.toSorted((a, b) => b.k - a.k)[0] ?? null;
}

export function statusCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'status',
    'Show how every pipeline stands, how old that is and why; exit 1 unless all are ok.',
    'recalld status',
  ).action(async ({ config, json }: ConfiguredOptions) => {
    const overview = await readOverview(commandSettings(config, signal));
    if (json === true) printJson(overview);
    else printLine(formatOverview(overview));
    if (overview.some(({ state }) => state !== 'ok')) process.exitCode = EXIT_CHECK_FAILED;
  });
}

function formatOverview(pipelines: readonly OverviewJson[]): string {
  if (pipelines.length === 0) return 'The config has no pipeline; add one under `pipelines`.';
  const rows = pipelines.flatMap(({ pipeline, state, golden_sets: sets }) =>
    (sets.length === 0 ? [null] : sets).map((set, index) => [
      index === 0 ? pipeline : '',
      index === 0 ? verdictText(state) : '',
      ...(set === null
        ? ['-', '-', '', '-']
        : [
            set.golden_set,
            set.score === null ? '-' : scoreText(set.score),
            sparkline(set.trend),
            set.age_seconds === null
              ? 'never ran'
              : `${ageText(set.age_seconds)}${set.is_too_old ? styled('yellow', ' (too old)') : ''}`,
          ]),
    ]),
  );
  const table = formatTable(['pipeline', 'state', 'golden set', 'score', 'trend', 'age'], rows);
  const why = pipelines.flatMap(({ pipeline, reasons, unknowns, diagnosis }) => [
    ...(diagnosis === null ? [] : [`${styled('bold', pipeline)}: ${diagnosis}`]),
    ...[...reasons, ...unknowns].map((reason) => `${styled('bold', pipeline)}: ${reason}`),
  ]);
  return why.length === 0 ? table : `${table}\n\n${why.join('\n')}`;
}

function scoreText({
  measure,
  mean,
  ci_low: low,
  ci_high: high,
}: NonNullable<OverviewJson['golden_sets'][number]['score']>): string {
  return `${measure} ${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}
