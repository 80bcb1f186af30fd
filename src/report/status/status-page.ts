/**
 * The status page, with all pipelines, worst first, and each pipeline's overview page, with the latest value and age of
 * each measure.
 */
import { checkTable } from '../../checks/edge/check-table.ts';
import { ALL_SEGMENT, type Verdict } from '../../core/model.ts';
import { diagnosisOf, incidentTable } from '../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { deploymentTable } from '../../live/deployments/edge/deployments-page.ts';
import { measureRow } from '../../measures/rules/measure-table.ts';
import { inReadingOrder, isGlanceMeasure } from '../../measures/shown-measures.ts';
import { pipelinePath, runPath } from '../console/links.ts';
import type { TrendPoint } from '../model/charts.ts';
import type { Column, Content, PageContent, Section } from '../model/content.ts';
import { latestAge, latestSize, latestValue } from '../model/measures.ts';
import {
  age,
  empty,
  exactTime,
  group,
  lead,
  link,
  list,
  missing,
  quiet,
  section,
  sparkline,
  styledParagraph,
  table,
  tonedList,
  value,
  verdictBadge,
} from '../model/show.ts';
import {
  type GoldenSetStatus,
  healthySentence,
  type MeasurementStatus,
  type PipelineStatus,
} from './pipeline-status.ts';
import type { DetailedStatus } from './read-status.ts';
import type { readOverviewPage, readStatusPage } from './status-reads.ts';

type PipelineGlance = Awaited<ReturnType<typeof readStatusPage>>[number];

const worstFirst: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];

export function statusPage(pipelines: readonly PipelineGlance[]): PageContent {
  const byState = worstFirst
    .map((state) => ({ state, found: pipelines.filter(({ status }) => status.state === state) }))
    .filter(({ found }) => found.length > 0);
  return {
    title: 'Status',
    pipeline: null,
    section: 'status',
    aside: list(
      'tally',
      byState.map(({ state, found }) => [found.length, ' ', verdictBadge(state)]),
    ),
    content:
      byState.length === 0
        ? empty(
            'No pipeline is configured.',
            'Add your retriever under `pipelines` in `recalld.yaml`, validate the file with `recalld config check`, and restart the daemon.',
          )
        : byState.flatMap(({ found }) => found.map(glance)),
  };
}

function glance({ status, diagnosis, trends }: PipelineGlance): Section {
  const { pipeline, state, golden, measurements } = status;
  const shown = measurements.filter(({ measure }) => isGlanceMeasure(measure));
  return section(
    `p-${pipeline}`,
    link(pipeline, pipelinePath(pipeline)),
    { tone: state, aside: verdictBadge(state) },
    group(
      'glance',
      group('side', reasonList(status.reasons, status.unknowns), diagnosisOf(state, diagnosis, 'brief')),
      group('side', measuresTable(pipeline, golden, shown, trends)),
    ),
  );
}

/** Lists the reasons for a status, each in the color of its verdict. Lists the unknowns if there are no reasons. */
export function reasonList(reasons: PipelineStatus['reasons'], unknowns: readonly string[]): Content {
  const shown = reasons.length > 0 ? reasons : unknowns.map((sentence) => ({ verdict: 'no_data' as const, sentence }));
  return [
    reasons.length === 0 && styledParagraph('quiet', healthySentence(unknowns)),
    shown.length > 0 &&
      tonedList(
        'reasons',
        shown,
        ({ verdict }) => verdict,
        ({ sentence }) => sentence,
      ),
  ];
}

export function overviewPage({
  status,
  diagnosis,
  earlier,
  trends,
  notes,
}: Awaited<ReturnType<typeof readOverviewPage>>): PageContent {
  const { pipeline, state, checks, golden, measurements, deployments } = status;
  return {
    title: 'Overview',
    pipeline,
    section: 'overview',
    aside: verdictBadge(state),
    content: [
      section(
        'state',
        'Why this status',
        {},
        reasonList(status.reasons, status.unknowns),
        diagnosisOf(state, diagnosis),
        latestRuns(status),
      ),
      section(
        'checks',
        'Checks',
        { lead: 'A check without recent data shows "No data". Select a check to see its history.' },
        checks.length === 0
          ? empty(
              'No check is configured, so the quality of this pipeline is unknown.',
              'Add one under `checks`, such as `{measure: ndcg@10, below: 0.8}`.',
            )
          : checkTable(`Checks of ${pipeline}`, checks, false),
      ),
      section(
        'measures',
        'Latest measures',
        { lead: 'Values that are too old to trust are withheld. A measure without a value shows the reason.' },
        measuresTable(pipeline, golden, measurements, trends),
      ),
      section(
        'earlier',
        'Earlier incidents',
        {},
        earlier.length === 0
          ? lead('No earlier incidents.')
          : incidentTable(`Earlier incidents of ${pipeline}`, earlier),
      ),
      section(
        'deployments',
        'Deployments of the last seven days',
        {},
        deployments.length === 0
          ? empty(
              'No deployment was reported or detected.',
              `To report deployments, call \`recalld deployments add --pipeline ${pipeline} --kind index --version V\` in your deploy step.`,
            )
          : deploymentTable(`Deployments of ${pipeline}`, deployments, notes, pipelinePath(pipeline), false),
      ),
    ],
  };
}

/** The latest run of each set, with the reason if it did not complete. */
function latestRuns({ runs }: DetailedStatus): Content {
  const latest = runs.flatMap((one) => one.latest ?? []);
  if (latest.length === 0) return null;
  return list(
    'latest-runs',
    latest.map(({ id, goldenSet, status, startedAt, reason }) => [
      `Latest run of ${goldenSet}: `,
      link(id, runPath(id)),
      `, ${status}, `,
      exactTime(startedAt),
      reason !== null && `: ${reason}`,
    ]),
  );
}

/** Golden run measures that the overview shows. */
const headlines = ['ndcg', 'hit_rate', 'mrr'] as const;

type MeasureRow = readonly [name: Content, value: Content, n: Content, age: Content, trend: Content];

const columns: readonly Column<MeasureRow>[] = [
  ['Measure', ([name]) => name],
  ['Value (95 % CI)', ([, shown]) => shown, 'number'],
  ['n', ([, , n]) => n, 'number'],
  ['Measured', ([, , , when]) => when, 'number'],
  ['Trend', ([, , , , trend]) => trend, 'minor'],
];

/** @param trends of the first headline measure, keyed by golden set */
function measuresTable(
  pipeline: string,
  golden: readonly GoldenSetStatus[],
  measurements: readonly MeasurementStatus[],
  trends: PipelineGlance['trends'],
): Content {
  if (golden.length === 0 && measurements.length === 0)
    return empty(
      'Nothing has been measured yet.',
      'Import a golden set and add it under `golden` in this pipeline, or send live queries.',
    );
  const stored = inReadingOrder(measurements.filter(({ segment }) => segment === ALL_SEGMENT));
  const rows = [
    ...golden.flatMap((set) => goldenRows(set, trends.get(set.goldenSet) ?? [])),
    ...stored.map((latest): MeasureRow => {
      const shown = { latest, isTooOld: latest.isTooOld };
      return [measureRow(latest.measure).title, latestValue(shown), latestSize(shown), latestAge(shown), null];
    }),
  ];
  return table(`Latest measures of ${pipeline}`, rows, columns, 'compact');
}

function goldenRows({ goldenSet, completed }: GoldenSetStatus, trend: readonly TrendPoint[]): MeasureRow[] {
  if (completed === null) return [[`Golden set ${goldenSet}`, missing('no completed run'), '', '', null]];
  const { scores, finishedAt, isTooOld } = completed;
  const all = scores.filter(({ segment }) => segment === ALL_SEGMENT);
  const k = Math.max(...all.map((one) => one.k));
  return headlines.flatMap((measure, index): MeasureRow[] => {
    const found = all.find((one) => one.measure === measure && one.k === k);
    if (found === undefined) return [];
    return [
      [
        [`${measure}@${k} `, quiet(goldenSet)],
        isTooOld ? missing('withheld') : value(found.mean, 'score', found.ciLow, found.ciHigh),
        found.n,
        age(finishedAt, isTooOld),
        index === 0 && sparkline(trend),
      ],
    ];
  });
}
