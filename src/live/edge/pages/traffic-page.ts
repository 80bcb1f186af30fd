import { levelOf } from '../../../checks/edge/check-table.ts';
import { count, duration, plural, type Unit } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { measureRow } from '../../../measures/rules/measure-table.ts';
import { inReadingOrder } from '../../../measures/shown-measures.ts';
import type { TrendChart, TrendSeries } from '../../../report/model/charts.ts';
import type { Content, PageContent, Section } from '../../../report/model/content.ts';
import { latestValue, measureChart } from '../../../report/model/measures.ts';
import {
  age,
  bounded,
  empty,
  group,
  heading,
  missing,
  section,
  table,
  time,
  value,
} from '../../../report/model/show.ts';
import type { MeasurementStatus } from '../../../report/status/pipeline-status.ts';
import { deploymentMark } from '../../deployments/edge/deployments-page.ts';
import { STAGED_QUERIES, type StagesDetails } from '../../measure-live-traffic.ts';
import type { PositiveRatioOutcome } from '../../rules/feedback/sentiment.ts';
import type { UncheckedReason } from '../../rules/isolation.ts';
import type { MeasuredStage } from '../../rules/live-stages.ts';
import type { TrafficBucket } from '../../sql/live-samples.ts';
import { violatingDocuments } from '../violating-documents.ts';
import { episodesSection } from './episodes-section.ts';
import { feedbackCharts, type readTrafficPage, trafficCharts } from './traffic-reads.ts';

type TrafficPageData = Awaited<ReturnType<typeof readTrafficPage>>;

const bySegment: ReadonlySet<string> = new Set([
  'queries',
  'zero_results_ratio',
  'error_ratio',
  'clicked_query_ratio',
  'query_density',
]);

export function trafficPage(data: TrafficPageData): PageContent {
  const { pipeline, buckets, latest, deployments } = data;
  const marks = deployments.map(deploymentMark);
  const total = buckets.reduce((sum, { outcomes }) => sum + totalOf(outcomes), 0);
  return {
    title: 'Traffic & feedback',
    pipeline,
    section: 'traffic',
    content: [
      section(
        'traffic',
        'Live queries',
        {
          lead:
            total > 0 &&
            `${count(total)} in this period, sampled or not. Shares are measured over a trailing window and shown with their 95 % CI.`,
        },
        total === 0 &&
          empty(
            'No live queries in this period.',
            'Send live queries to `POST /v1/queries`, with the client `recalld/client` or an OpenTelemetry exporter, or choose a longer period.',
          ),
        group(
          'charts',
          total > 0 && { ...volume(data), marks },
          trafficCharts.map((measure) => shareChart(data, measure)),
        ),
      ),
      data.isolation !== null && isolationSection(data.isolation),
      episodesSection(
        latest.filter(({ segment }) => segment === ALL_SEGMENT),
        data.episodes,
      ),
      stages(latest),
      feedback(data),
      segments(latest),
    ],
  };
}

/** Counts are stored by the hour, so the first hour may begin before the range. */
function isolationSection({ rules, violations }: NonNullable<TrafficPageData['isolation']>): Section {
  const unchecked = ({ found }: (typeof rules)[number], reason: UncheckedReason): number =>
    found?.unchecked[reason] ?? 0;
  const violated = rules.reduce((sum, { found }) => sum + (found?.violated ?? 0), 0);
  return section(
    'isolation',
    'Isolation',
    {
      lead: 'Live queries whose results violated an isolation rule. All queries are checked, whether sampled or not. The counts cover whole hours.',
    },
    table('Isolation rules', rules, [
      ['Rule', ({ rule }) => rule],
      ['Violated', ({ found }) => count(found?.violated ?? 0), 'number'],
      ['Allowed', ({ found }) => count(found?.allowed ?? 0), 'number'],
      ['No segment', (one) => count(unchecked(one, 'segment_missing')), 'minor number'],
      ['No document id', (one) => count(unchecked(one, 'document_unidentified')), 'minor number'],
      ['No field', (one) => count(unchecked(one, 'field_missing')), 'minor number'],
      ['Last violation', ({ found }) => (found?.lastViolationAt ? time(found.lastViolationAt) : missing('none'))],
    ]),
    violations.length > 0 && [
      heading(
        3,
        violations.length < violated ? `Latest ${violations.length} of ${count(violated)} violations` : 'Violations',
      ),
      table('Violations of isolation rules', violations, [
        ['Received (UTC)', ({ receivedAt }) => time(receivedAt)],
        ['Rule', ({ rule }) => rule],
        ['Segment', ({ segment }) => segment],
        ['Query', ({ queryId }) => queryId],
        ['Documents (rank)', (violation) => violatingDocuments(violation)],
      ]),
    ],
  );
}

/** Returns null for a service that does not report stages. */
function stages(latest: readonly MeasurementStatus[]): Content {
  const found = latest.find(({ measure }) => measure === STAGED_QUERIES);
  if (found === undefined || found.newest === null || found.gap !== null || found.isTooOld) return null;
  const { stages: measured } = found.newest.details as Readonly<Record<string, unknown>> & StagesDetails;
  return liveStagesSection(measured, found.newest.value);
}

function totalOf(outcomes: TrafficBucket['outcomes']): number {
  return Object.values(outcomes).reduce((sum, queries) => sum + queries, 0);
}

/** Charts a share. Only the chart of live queries also lists the deployments. */
function shareChart({ series, deployments, checks }: TrafficPageData, measure: string): TrendChart {
  return measureChart(measure, series.get(measure) ?? [], {
    marks: deployments.map(deploymentMark),
    hasMarkList: false,
    levels: checks.flatMap((check) =>
      check.measure === measure && check.kind === 'threshold' ? [levelOf(check)] : [],
    ),
    limits: [0, 1],
    empty: 'No measurements in this period.',
  });
}

/** Sets buckets that have no queries to 0, so that gaps in traffic are visible. */
function volume({ buckets, bucketSeconds, from, until }: TrafficPageData): TrendChart {
  const step = bucketSeconds * 1000;
  const found = new Map(buckets.map((bucket) => [bucket.start.getTime(), bucket.outcomes]));
  const starts: number[] = [];
  for (let at = Math.ceil(from.getTime() / step) * step; at < until.getTime(); at += step) starts.push(at);
  const series = (name: string, of: (outcomes: TrafficBucket['outcomes']) => number): TrendSeries => ({
    name,
    points: starts.map((at) => {
      const outcomes = found.get(at);
      return { at: new Date(at), value: outcomes === undefined ? 0 : of(outcomes), low: null, high: null };
    }),
  });
  return {
    kind: 'trend',
    id: 'trend-queries',
    title: `Queries per ${duration(bucketSeconds)}`,
    series: [
      series('all', totalOf),
      series('empty', ({ empty: none }) => none),
      series('failed', ({ error, timeout }) => error + timeout),
    ],
    limits: [0, null],
    unit: 'count',
    empty: '',
  };
}

function feedback(data: TrafficPageData): Section {
  const { feedback: given, series, isFeedbackCut } = data;
  const { kinds, opinions } = given;
  const charted = feedbackCharts.filter((measure) => (series.get(measure)?.length ?? 0) > 0);
  return section(
    'feedback',
    'Feedback',
    isFeedbackCut ? { lead: 'Covers only the last seven days of this period.' } : {},
    charted.length > 0 &&
      group(
        'charts',
        charted.map((measure) => shareChart(data, measure)),
      ),
    kinds.length === 0
      ? empty('No feedback in this period.', 'Send thumbs, ratings and clicks to `POST /v1/feedback`.')
      : group(
          'sides',
          group(
            'side',
            heading(3, 'Positive, by segment'),
            table(
              'Share of positive opinions by segment',
              [...opinions.all],
              [
                ['Segment', ([segment]) => segment],
                ['Positive, 95 % CI', ([, outcome]) => positive(outcome, 'no opinions'), 'number'],
                ['n', ([, outcome]) => (outcome.kind === 'ratio' ? outcome.n : 0), 'number'],
                ['Explicit', ([segment]) => positive(opinions.explicit.get(segment), 'none', false), 'minor number'],
                ['Implicit', ([segment]) => positive(opinions.implicit.get(segment), 'none', false), 'minor number'],
              ],
              'compact',
            ),
          ),
          group(
            'side',
            heading(3, 'By kind'),
            table(
              'Feedback by kind',
              kinds,
              [
                ['Kind', ({ kind }) => kind.replace('_', ' ')],
                ['All', ({ feedback: all }) => all, 'number'],
                ['Positive', (one) => one.positive, 'number'],
                ['Negative', ({ negative }) => negative, 'number'],
                ['Neutral', ({ neutral }) => neutral, 'minor number'],
              ],
              'compact',
            ),
          ),
        ),
  );
}

function positive(outcome: PositiveRatioOutcome | undefined, none: string, withBounds = true): Content {
  if (outcome?.kind !== 'ratio') return missing(none);
  return withBounds ? value(outcome.value, 'share', outcome.low, outcome.high) : value(outcome.value, 'share');
}

function segments(latest: readonly MeasurementStatus[]): Section {
  const shown = inReadingOrder(latest.filter(({ measure }) => bySegment.has(measure)));
  const rows = [...new Set(shown.map(({ segment }) => segment))];
  const measures = [...new Set(shown.map(({ measure }) => measure))];
  const cell = (segment: string, measure: string): Content => {
    const found = shown.find((one) => one.segment === segment && one.measure === measure);
    return found === undefined ? missing('none') : latestValue({ latest: found, isTooOld: found.isTooOld });
  };
  const times = shown.flatMap(({ newest, gap }) => (gap ?? newest)?.measuredAt ?? []);
  const oldest = times.toSorted((a, b) => a.getTime() - b.getTime())[0];
  return section(
    'segments',
    'By segment',
    { lead: oldest !== undefined && ['Latest values; the oldest was measured ', age(oldest), '.'] },
    rows.length === 0
      ? empty(
          'No measurements yet. Live traffic is measured every five minutes.',
          'Configure segments with `segments: {keys: [...]}`.',
        )
      : table(
          'Latest measures by segment',
          rows,
          [
            ['Segment', (segment) => segment],
            ...measures.map(
              (measure) => [measureRow(measure).title, (segment: string) => cell(segment, measure), 'number'] as const,
            ),
          ],
          'dense',
        ),
  );
}

const shown = (of: MeasuredStage['documents'], unit: Unit) => (of === null ? missing('unknown') : bounded(of, unit));

export function liveStagesSection(measured: readonly MeasuredStage[], queries: number): Section {
  return section(
    'stages',
    'Stages of the retriever',
    {
      lead: `Weighted values over ${plural(queries, 'sampled query', 'sampled queries')} in the trailing window, with 95 % CI. Golden runs show how many relevant documents each stage loses.`,
    },
    table('Stages of live queries', measured, [
      ['Stage', ({ name }) => name.replaceAll('_', ' ')],
      ['Latency, p95', ({ latencyP95Ms }) => shown(latencyP95Ms, 'ms'), 'number'],
      ['Documents', ({ documents }) => shown(documents, 'other'), 'number'],
      ['Returns nothing', ({ emptied }) => shown(emptied, 'share'), 'number'],
      ['Final results in top documents', ({ answered }) => shown(answered, 'share'), 'number'],
      ['n', ({ n }) => n, 'minor number'],
    ]),
  );
}
