/**
 * The overview of a pipeline: firing alerts, status over time, four charts on one time axis, and all measures by group.
 */
import { verdictIntervals } from '../../checks/edge/checks-page.ts';
import { plural, range as rangeText } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { goldenSetOf } from '../../golden/rules/golden-set.ts';
import { diagnosisPanel, incidentTable } from '../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { silencePanel } from '../../incidents/notifications/edge/silence-panel.ts';
import { deploymentMark } from '../../live/deployments/edge/deployments-page.ts';
import type { MeasureScale } from '../../measures/rules/measure-row.ts';
import { measureRow } from '../../measures/rules/measure-table.ts';
import {
  inReadingOrder,
  isOverviewSeries,
  type MeasureGroup,
  measureGroup,
  measureGroups,
} from '../../measures/shown-measures.ts';
import { pipelinePath } from '../console/links.ts';
import type { StripsChart, VerdictInterval } from '../model/charts.ts';
import type { Column, Content, ContentNode, PageContent } from '../model/content.ts';
import { latestAge, latestSize, latestValue } from '../model/measures.ts';
import {
  age,
  empty,
  group,
  lead,
  link,
  missing,
  more,
  quiet,
  section,
  sparkline,
  table,
  tonedList,
  value,
} from '../model/show.ts';
import { firingPanel, firingTitle, headlineOf, verdictBadges } from './firing.ts';
import type { readOverviewPage } from './overview-reads.ts';
import type { GoldenSetStatus, MeasurementStatus, PipelineStatus } from './pipeline-status.ts';
import { qualityCharts } from './quality-charts.ts';

type OverviewData = Awaited<ReturnType<typeof readOverviewPage>>;

export function overviewPage(data: OverviewData): PageContent {
  const { status, incident, earlier, deployments, quality, range } = data;
  const { pipeline, state, checks } = status;
  const incidents = incidentIntervals(data);
  return {
    title: headlineOf(status, incident) ?? 'Overview',
    pipeline,
    section: 'overview',
    aside: verdictBadges(status, incident),
    content: [
      section(
        'state',
        firingTitle(status, incident),
        { tone: state },
        firingPanel(status, incident, false),
        silencePanel(pipeline, data.silences, data.now, pipelinePath(pipeline)),
      ),
      section(
        'timeline',
        'Timeline',
        {
          lead: 'Shading marks incidents; numbered lines mark deployments. Drag over a chart to zoom.',
          aside: link('Checks', '/checks', { pipeline }),
        },
        checks.length === 0
          ? empty(
              'No check is configured, so the quality of this pipeline is unknown.',
              'Add a check under `checks`, such as `{measure: ndcg@10, below: 0.8}`.',
            )
          : strips(data, incidents),
        group(
          'charts',
          qualityCharts(status, quality, range, {
            marks: deployments.map(deploymentMark),
            hasMarkList: false,
            spans: incidents,
          }),
        ),
      ),
      (state !== 'ok' || status.unknowns.length > 0) &&
        section(
          'why',
          state === 'ok' ? 'Missing data' : 'Why this status',
          {},
          reasonList(status.reasons, status.unknowns),
          incident !== null && diagnosisPanel(incident, 'evidence'),
        ),
      section(
        'measures',
        'Latest measures',
        { lead: 'Values that are too old to trust are not shown. Shading shows the normal range of a measure.' },
        measures(data),
      ),
      section(
        'earlier',
        'Earlier incidents',
        {},
        earlier.length === 0
          ? lead('No earlier incidents.')
          : incidentTable(`Earlier incidents of ${pipeline}`, earlier),
      ),
    ],
  };
}

/** Lists the reasons for a status, each in the color of its verdict. If there are no reasons, lists the missing data. */
export function reasonList(reasons: PipelineStatus['reasons'], unknowns: readonly string[]): Content {
  const shown: PipelineStatus['reasons'] =
    reasons.length > 0 ? reasons : unknowns.map((sentence) => ({ verdict: 'no_data', sentence }));
  return (
    shown.length > 0 &&
    tonedList(
      'reasons',
      shown,
      ({ verdict }) => verdict,
      ({ sentence }) => sentence,
    )
  );
}

function incidentIntervals({ within, range }: OverviewData): VerdictInterval[] {
  return within
    .map(({ severity, openedAt, closedAt }) => ({
      verdict: severity,
      from: openedAt < range.from ? range.from : openedAt,
      until: closedAt ?? range.until,
    }))
    .toSorted((a, b) => a.from.getTime() - b.from.getTime());
}

/** Draws a strip for the incidents, one for each check that did not always pass, and one for all other checks. */
function strips(
  { status, transitions, range, deployments }: OverviewData,
  incidents: readonly VerdictInterval[],
): StripsChart {
  const { from, until } = range;
  const known = status.checks.map((check) => ({
    label: check.name,
    intervals: verdictIntervals(
      transitions.filter((one) => one.check === check.name),
      check,
      from,
      until,
    ),
  }));
  const isSteady = ({ intervals }: (typeof known)[number]) => intervals.every(({ verdict }) => verdict === 'ok');
  const steady = known.filter(isSteady);
  return {
    kind: 'strips',
    strips: [
      { label: 'Incidents', intervals: incidents },
      ...known.filter((one) => !isSteady(one)),
      ...(steady.length === 0
        ? []
        : [
            {
              label: steady.length === 1 ? (steady[0]?.label ?? '') : plural(steady.length, 'passing check'),
              intervals: longest(steady),
            },
          ]),
    ],
    marks: deployments.map(deploymentMark),
    from,
    until,
  };
}

function startOf({ intervals }: StripsChart['strips'][number]): number {
  return intervals[0]?.from.getTime() ?? Number.POSITIVE_INFINITY;
}

function longest(strips: StripsChart['strips']): readonly VerdictInterval[] {
  return strips.toSorted((a, b) => startOf(a) - startOf(b))[0]?.intervals ?? [];
}

interface MeasureRow {
  readonly group: MeasureGroup;
  readonly name: Content;
  readonly value: Content;
  readonly n: Content;
  readonly normal: Content;
  readonly isUnusual: boolean;
  readonly trend: Content;
  readonly measured: Content;
}

const columns: readonly Column<MeasureRow>[] = [
  ['Measure', ({ name }) => name],
  ['Value (95 % CI)', (row) => row.value, 'number'],
  ['Normal', ({ normal }) => normal, 'minor number'],
  ['Trend', ({ trend }) => trend, 'minor'],
  ['n', ({ n }) => n, 'minor number'],
  ['Measured', ({ measured }) => measured, 'number'],
];

function measures({ status, trends, quality }: OverviewData): Content {
  const { golden, measurements } = status;
  if (golden.length === 0 && measurements.length === 0)
    return empty(
      'Nothing has been measured yet.',
      'Import a golden set and add it under `golden` in the config of this pipeline, or send live queries.',
    );
  const rows = [
    ...golden.flatMap((set) => goldenRows(set, quality)),
    ...inReadingOrder(measurements.filter((one) => isOverviewSeries(one) && hasUnit(one))).map((latest) =>
      measureRowOf(latest, trends.get(latest.segment)?.get(latest.measure) ?? []),
    ),
  ];
  return measureGroups.flatMap((name): ContentNode[] => {
    const own = rows.filter((row) => row.group === name);
    if (own.length === 0) return [];
    const unusual = own.filter(({ isUnusual }) => isUnusual).length;
    const summary = `${name}: ${plural(own.length, 'measure')}${unusual === 0 ? '' : `, ${unusual} outside the normal range`}`;
    return [more(summary, table(`${name} measures`, own, columns, 'compact'))];
  });
}

/** Returns false for e-values, which are hard to interpret. The density page shows e-values with their threshold. */
function hasUnit({ measure }: MeasurementStatus): boolean {
  return !measure.endsWith('_evidence_ratio');
}

function measureRowOf(latest: MeasurementStatus, points: Parameters<typeof sparkline>[0]): MeasureRow {
  const { measure, segment, newest, normal, isTooOld } = latest;
  const { title, scale } = measureRow(measure);
  const shown = { latest, isTooOld };
  const range = normal === null ? null : possible(normal, scale);
  const isUnusual =
    normal !== null && newest !== null && !isTooOld && (newest.value < normal.low || newest.value > normal.high);
  return {
    group: measureGroup(measure),
    name: segment === ALL_SEGMENT ? title : [`${title} `, quiet(goldenSetOf(segment))],
    value: latestValue(shown),
    n: latestSize(shown),
    normal: range !== null && [rangeText(range.low, range.high, scale), isUnusual && missing(' outside')],
    isUnusual,
    trend: sparkline(points, range),
    measured: latestAge(shown),
  };
}

/** Clips a normal range to the values that the measure can have. */
function possible({ low, high }: { readonly low: number; readonly high: number }, scale: MeasureScale) {
  return {
    low: scale === 'other' ? low : Math.max(0, low),
    high: scale === 'share' ? Math.min(1, high) : high,
    text: 'normal range',
  };
}

const headlines = ['ndcg', 'hit_rate', 'mrr'] as const;

function goldenRows({ goldenSet, completed }: GoldenSetStatus, quality: OverviewData['quality']): MeasureRow[] {
  const row = { group: 'Golden', normal: null, isUnusual: false, trend: null } as const;
  if (completed === null)
    return [{ ...row, name: `Golden set ${goldenSet}`, value: missing('no completed run'), n: null, measured: null }];
  const { scores, finishedAt, isTooOld } = completed;
  const all = scores.filter(({ segment }) => segment === ALL_SEGMENT);
  const k = Math.max(...all.map((one) => one.k));
  return headlines.flatMap((measure): MeasureRow[] => {
    const found = all.find((one) => one.measure === measure && one.k === k);
    if (found === undefined) return [];
    const isCharted = quality.set === goldenSet && quality.measure === measure;
    return [
      {
        ...row,
        name: [`${measure}@${k} `, quiet(goldenSet)],
        value: isTooOld ? missing('withheld') : value(found.mean, 'score', found.ciLow, found.ciHigh),
        n: found.n,
        trend: isCharted && sparkline(quality.scores),
        measured: age(finishedAt, isTooOld),
      },
    ];
  });
}
