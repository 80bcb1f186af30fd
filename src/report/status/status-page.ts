/**
 * The status of pipelines: all of them at a glance, those that are failing first, and one of them, with the latest of
 * each of its measures and its age; what is too old or came to nothing says so.
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
            'The config names no pipeline, so there is nothing to watch.',
            'Write a `recalld.yaml` with your retriever under `pipelines`, check it with `recalld config check` and start the daemon again.',
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
      group('side', reasons(status), diagnosisOf(state, diagnosis, 'brief')),
      group('side', measuresTable(pipeline, golden, shown, trends)),
    ),
  );
}

/** Every reason why a pipeline is not well, each in the colour of what it makes of it. */
export function reasons(status: Pick<PipelineStatus, 'reasons' | 'unknowns'>): Content {
  const unknowns = status.unknowns.map((sentence) => ({ verdict: 'no_data' as const, sentence }));
  const shown = status.reasons.length > 0 ? status.reasons : unknowns;
  return [
    status.reasons.length === 0 && styledParagraph('quiet', healthySentence(status)),
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
        'Why it stands as it does',
        {},
        reasons(status),
        diagnosisOf(state, diagnosis),
        latestRuns(status),
      ),
      section(
        'checks',
        'Checks',
        { lead: 'What is too old to trust judges nothing. The name of a check leads to its history.' },
        checks.length === 0
          ? empty(
              'No check is configured, so nothing says whether this pipeline is well.',
              'Add one under `checks`, such as `{measure: ndcg@10, below: 0.8}`.',
            )
          : checkTable(`Checks of ${pipeline}`, checks, false),
      ),
      section(
        'measures',
        'Latest measures',
        { lead: 'A value that is too old to trust is withheld; one that could not be measured says why.' },
        measuresTable(pipeline, golden, measurements, trends),
      ),
      section(
        'earlier',
        'Earlier incidents and their causes',
        {},
        earlier.length === 0
          ? lead('None is kept: nothing was in alarm before.')
          : incidentTable(`Earlier incidents of ${pipeline}`, earlier),
      ),
      section(
        'deployments',
        'Deployments of the last seven days',
        {},
        deployments.length === 0
          ? empty(
              'Nothing was deployed that recalld was told of or saw.',
              `Have your deploy step call \`recalld deployments add --pipeline ${pipeline} --kind index --version V\`.`,
            )
          : deploymentTable(`Deployments of ${pipeline}`, deployments, notes, pipelinePath(pipeline), false),
      ),
    ],
  };
}

/** The latest run of each set, whatever became of it, with the reason when it did not complete. */
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

/** What golden runs are told by at a glance. */
const headlines = ['ndcg', 'hit_rate', 'mrr'] as const;

/** Name, value, size of the sample, age and trend of a measure. */
type MeasureRow = readonly [name: Content, value: Content, n: Content, age: Content, trend: Content];

const columns: readonly Column<MeasureRow>[] = [
  ['Measure', ([name]) => name],
  ['Value, 95 % bounds', ([, shown]) => shown, 'number'],
  ['n', ([, , n]) => n, 'number'],
  ['Measured', ([, , , when]) => when, 'number'],
  ['Trend', ([, , , , trend]) => trend, 'minor'],
];

/** @param trends by golden set, of the first headline */
function measuresTable(
  pipeline: string,
  golden: readonly GoldenSetStatus[],
  measurements: readonly MeasurementStatus[],
  trends: PipelineGlance['trends'],
): Content {
  if (golden.length === 0 && measurements.length === 0)
    return empty(
      'Nothing has been measured yet.',
      'Import a golden set and name it under golden of this pipeline, or send live queries.',
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
  if (completed === null) return [[`Golden set ${goldenSet}`, missing('no run has completed'), '', '', null]];
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
