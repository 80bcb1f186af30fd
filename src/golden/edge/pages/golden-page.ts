import { thresholdLevel } from '../../../checks/edge/check-table.ts';
import { type FloorCheck, ofKind } from '../../../checks/rules/golden-checks.ts';
import { worstVerdict } from '../../../checks/rules/threshold.ts';
import { type Context, onReplica } from '../../../core/context.ts';
import type { RunStatus } from '../../../core/model.ts';
import { diagnosisPanel } from '../../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { deploymentMark } from '../../../live/deployments/edge/deployments-page.ts';
import type { Measure } from '../../../math/ir/metric-key.ts';
import type { Query } from '../../../report/console/http/visit.ts';
import { labelsPath, pipelinePath, runPath, type TimeRange } from '../../../report/console/links.ts';
import type { TrendChart, TrendPoint } from '../../../report/model/charts.ts';
import type { Content, ContentNode, PageContent, Tone } from '../../../report/model/content.ts';
import {
  badge,
  choices,
  empty,
  exactTime,
  group,
  link,
  missing,
  quiet,
  section,
  styledParagraph,
  table,
  value,
  verdictBadge,
} from '../../../report/model/show.ts';
import { readStatus } from '../../../report/status/read-status.ts';
import type { HistoricRun } from '../../sql/run-results.ts';
import type { WatchedPipeline } from '../../watched-pipeline.ts';
import { deploymentsWithin } from './golden-reads.ts';

/** Measures that get a chart, the most informative first. */
export const charted: readonly { readonly measure: Measure; readonly name: string }[] = [
  { measure: 'ndcg', name: 'nDCG' },
  { measure: 'hit_rate', name: 'Hit rate' },
  { measure: 'mrr', name: 'MRR' },
  { measure: 'recall', name: 'Recall' },
];

/** Number of rows per page in the table of runs. */
const MAX_RUNS = 25;

type GoldenPageData = Awaited<ReturnType<typeof readGoldenPage>>;

export async function readGoldenPage(
  context: Context,
  pipeline: WatchedPipeline,
  { set: wanted, before }: Query,
  range: TimeRange,
) {
  const { db, reads } = context;
  const status = await readStatus(onReplica(context), pipeline);
  const sets = status.golden.map(({ goldenSet }) => goldenSet);
  const set = status.golden.find(({ goldenSet }) => goldenSet === wanted) ?? status.golden[0];
  if (set === undefined) return { pipeline: pipeline.name, sets, shown: null };
  const { goldenSet, cron } = set;
  const { from, until } = range;
  const asked = { pipeline: pipeline.name, goldenSet, from, until, measures: charted.map(({ measure }) => measure) };
  const [trends, runs, deployments, [diagnosis], baseline] = await Promise.all([
    reads.golden.runReads.trends(asked),
    reads.golden.runReads.history({ ...asked, until: startOf(before) ?? until, limit: MAX_RUNS + 1 }),
    deploymentsWithin(context, pipeline.name, from, until),
    db.incidents.list({ pipeline: pipeline.name, during: { from: until, until }, limit: 1 }),
    onReplica(context).db.golden.baselines.pinned(pipeline.name, goldenSet),
  ]);
  return {
    pipeline: pipeline.name,
    /** Golden sets in the config, and other sets that users have run. */
    sets,
    /** The golden set on the page; null if the pipeline has no golden set. */
    shown: {
      goldenSet,
      cron,
      trends,
      /** A page of the runs within the time range, oldest first. */
      runs: runs.slice(-MAX_RUNS),
      /** Value of the URL parameter that shows the next older page; null if there are no older runs. */
      older: runs.length > MAX_RUNS ? (runs.at(-MAX_RUNS)?.startedAt.toISOString() ?? null) : null,
      deployments,
      /** Incident of the pipeline at the end of the time range; null if there is none. */
      diagnosis: diagnosis ?? null,
      baseline,
      floors: new Map(ofKind(pipeline.checks, 'floor').map((floor) => [floor.measure, floor])),
    },
  };
}

function startOf(before: string | undefined): Date | null {
  const at = new Date(before ?? '');
  return Number.isNaN(at.getTime()) ? null : at;
}

export const runTones: Record<RunStatus, Tone> = {
  running: 'neutral',
  completed: 'neutral',
  void: 'critical',
  failed: 'critical',
  cancelled: 'neutral',
};

export function goldenChart(
  id: string,
  measure: Measure,
  k: number,
  points: readonly TrendPoint[],
  rest: Partial<TrendChart> & { readonly empty: string },
): TrendChart {
  const name = charted.find((one) => one.measure === measure)?.name ?? measure;
  const title = k === 0 ? name : `${name}@${k}`;
  return { kind: 'trend', id, title, series: [{ name, points }], limits: [0, 1], unit: 'score', ...rest };
}

/** @param floors checks that set the minimum scores, keyed by metric key */
export function goldenCharts(
  id: string,
  k: number,
  pointsOf: (measure: Measure) => readonly TrendPoint[],
  floors: ReadonlyMap<string, FloorCheck>,
  rest: Pick<TrendChart, 'marks'> & { readonly empty: string },
): ContentNode {
  const charts = charted.map(({ measure }) => {
    const floor = floors.get(`${measure}@${k}`);
    const levels = floor === undefined ? [] : [thresholdLevel(floor.severity, 'below', floor.below, 'score')];
    return goldenChart(`${id}-${measure}`, measure, k, pointsOf(measure), { ...rest, levels });
  });
  return group('charts', charts);
}

export function goldenPage({ pipeline, sets, shown }: GoldenPageData): PageContent {
  return {
    title: 'Golden runs',
    pipeline,
    section: 'golden',
    content: [
      choices(
        'Golden sets',
        sets.map((set) => [link(set, pipelinePath(pipeline, 'golden'), { set }), set === shown?.goldenSet]),
      ),
      shown === null
        ? empty(
            'This pipeline has no golden set, so its retrieval quality is unknown.',
            "Import a golden set with `recalld golden import FILE --set NAME`, then add it under `golden` in the pipeline's config, with a `cron` schedule.",
          )
        : shownSet(pipeline, shown),
    ],
  };
}

function shownSet(pipeline: string, shown: NonNullable<GoldenPageData['shown']>): Content {
  const { goldenSet, cron, trends, runs, older, baseline, diagnosis, deployments, floors } = shown;
  const k = Math.max(...runs.flatMap(({ scores }) => scores.map((one) => one.k)), 0);
  return [
    section(
      'scores',
      `Scores of ${goldenSet}${k === 0 ? '' : ` at ${k}`}`,
      {
        lead: [
          cron === null ? 'Runs only manually.' : `Runs on the schedule \`${cron}\`.`,
          ' Bands show 95 % confidence intervals; numbered lines show deployments. ',
          baseline === null
            ? 'No baseline is pinned. Open a completed run to pin it.'
            : ['Compared with the baseline ', link(baseline.runId, runPath(baseline.runId)), '.'],
        ],
        aside: link('Judgments of this set', labelsPath(pipeline, goldenSet)),
      },
      goldenCharts('trend', k, (measure) => trends.get(measure) ?? [], floors, {
        marks: deployments.map(deploymentMark),
        empty: 'No run completed in this period. Choose a longer period.',
      }),
    ),
    diagnosis !== null && section('diagnosis', 'Diagnosis', {}, diagnosisPanel(diagnosis, 'brief')),
    section(
      'runs',
      'Runs',
      { lead: 'Newest first.' },
      runs.length === 0
        ? empty(
            'No run started in this period.',
            `Choose a longer period above, or run the set now: \`recalld golden run --pipeline ${pipeline} --set ${goldenSet}\``,
          )
        : table(
            'Golden runs, newest first',
            runs.toReversed(),
            [
              [
                'Started (UTC)',
                ({ runId, startedAt }) => [
                  link(exactTime(startedAt), runPath(runId)),
                  runId === baseline?.runId && quiet(' baseline'),
                ],
              ],
              ['Verdict', outcome],
              ['Version', ({ goldenSetVersion }) => String(goldenSetVersion), 'minor number'],
              ...charted.map(
                ({ measure, name }, index) =>
                  [name, (run: HistoricRun) => score(run, measure), index > 1 ? 'minor number' : 'number'] as const,
              ),
              ['Queries', ({ scores }) => scores[0]?.n ?? 0, 'minor number'],
            ],
            'dense',
          ),
      older !== null &&
        styledParagraph(
          'quiet',
          link('Older runs', pipelinePath(pipeline, 'golden'), { set: goldenSet, before: older }, 'runs'),
        ),
    ),
  ];
}

function score({ scores }: HistoricRun, measure: Measure): Content {
  const found = scores.find((one) => one.measure === measure);
  return found === undefined ? missing('none') : value(found.mean, 'score', found.ciLow, found.ciHigh);
}

function outcome({ status, verdicts }: HistoricRun): ContentNode {
  if (status === 'completed' && verdicts.length > 0) return verdictBadge(worstVerdict(verdicts));
  return badge(status === 'completed' ? 'no checks' : status, runTones[status]);
}
