/** Live traffic and what users think of the answers. */

import { compact, count, duration, plural } from '../../../core/format.ts';
import { percent } from '../../../core/text/spelling.ts';
import { gapWords } from '../../../measures/rules/measure-table.ts';
import { inReadingOrder, shownMeasure } from '../../../measures/shown-measures.ts';
import { TrendChart, type TrendPoint, type TrendSeries } from '../../../report/console/charts/trend-chart.tsx';
import { Age, Bounded, Empty, Missing, Section, Table } from '../../../report/console/components.tsx';
import { type Frame, Page } from '../../../report/console/page.tsx';
import type { MeasurementStatus } from '../../../report/status/pipeline-status.ts';
import { deploymentMark } from '../../deployments/edge/deployments-page.tsx';
import type { Deployment } from '../../deployments/rules/deployment.ts';
import { STAGED_QUERIES, type StagesDetails } from '../../measure-live-traffic.ts';
import type { PositiveRatioOutcome } from '../../rules/feedback/sentiment.ts';
import type { MeasuredStage } from '../../rules/live-stages.ts';
import type { TrafficBucket } from '../../sql/live-samples.ts';
import type { FeedbackSummary } from '../live-routes.ts';

export interface TrafficPageData {
  readonly pipeline: string;
  readonly buckets: readonly TrafficBucket[];
  readonly bucketSeconds: number;
  /** Values of `trafficCharts` over time, all segments together. */
  readonly series: ReadonlyMap<string, readonly TrendPoint[]>;
  /** The latest of every segment. */
  readonly latest: readonly MeasurementStatus[];
  readonly feedback: FeedbackSummary;
  /** Whether the time is longer than feedback is summed up over. */
  readonly isFeedbackCut: boolean;
  /** Null where the config compares none. */
  /** Oldest first. */
  readonly deployments: readonly Deployment[];
}

/** Measures of live traffic that have a chart. */
export const trafficCharts = ['zero_results_ratio', 'error_ratio', 'clicked_query_ratio'] as const;

/** Measures that are shown by segment. */
const bySegment: ReadonlySet<string> = new Set([
  'queries',
  'zero_results_ratio',
  'error_ratio',
  'clicked_query_ratio',
  'query_density',
]);

export function TrafficPage({ frame, data }: { readonly frame: Frame; readonly data: TrafficPageData }) {
  const { pipeline, buckets, bucketSeconds, series, latest, deployments } = data;
  const { range } = frame;
  const marks = deployments.map(deploymentMark);
  const total = buckets.reduce((sum, { outcomes }) => sum + totalOf(outcomes), 0);
  return (
    <Page frame={frame} title="Traffic & feedback" pipeline={pipeline} section="traffic">
      <Section
        id="traffic"
        title="Live queries"
        lead={
          total === 0
            ? undefined
            : `${count(total)} in this time, sampled or not. Shares are those of a trailing window, with 95 % bounds.`
        }
      >
        {total === 0 ? (
          <Empty
            why="No live query came in this time, so nothing is known of what users ask."
            todo={
              <>
                Send them to <code>POST /v1/queries</code>, with the client <code>recalld/client</code>, or point an
                OpenTelemetry exporter here; or choose a longer time.
              </>
            }
          />
        ) : null}
        <div class="charts">
          {total === 0 ? null : (
            <TrendChart
              id="trend-queries"
              title={`Queries each ${duration(bucketSeconds)}`}
              from={range.from}
              until={range.until}
              series={volumeSeries(data, range.from, range.until)}
              marks={marks}
              limits={[0, null]}
              show={count}
              empty=""
            />
          )}
          {trafficCharts.map((measure) => {
            const { title: name, show } = shownMeasure(measure);
            const points = series.get(measure) ?? [];
            return (
              <TrendChart
                key={measure}
                id={`trend-${measure}`}
                title={name}
                from={range.from}
                until={range.until}
                series={[{ name, points }]}
                marks={marks}
                limits={[0, 1]}
                show={show}
                empty="Nothing was measured in this time."
              />
            );
          })}
        </div>
      </Section>
      <Stages latest={latest} />
      <Feedback data={data} />
      <Segments latest={latest} />
    </Page>
  );
}

/** Nothing for a service that tells of no stages. */
function Stages({ latest }: { readonly latest: readonly MeasurementStatus[] }) {
  const found = latest.find(({ measure }) => measure === STAGED_QUERIES);
  if (found === undefined || found.newest === null || found.gap !== null || found.isTooOld) return null;
  const { stages } = found.newest.details as Readonly<Record<string, unknown>> & StagesDetails;
  return <LiveStagesSection stages={stages} queries={found.newest.value} />;
}

function totalOf(outcomes: TrafficBucket['outcomes']): number {
  return Object.values(outcomes).reduce((sum, queries) => sum + queries, 0);
}

/** With a 0 where nothing came, so that silence is seen. */
function volumeSeries({ buckets, bucketSeconds }: TrafficPageData, from: Date, until: Date): TrendSeries[] {
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
  return [
    series('all', totalOf),
    series('empty', ({ empty }) => empty),
    series('failed', ({ error, timeout }) => error + timeout),
  ];
}

function Feedback({ data: { feedback, isFeedbackCut } }: { readonly data: TrafficPageData }) {
  const { kinds, opinions } = feedback;
  const segments = [...opinions.all];
  return (
    <Section
      id="feedback"
      title="Feedback"
      lead={isFeedbackCut ? 'Of the last seven days of this time.' : 'Within this time.'}
    >
      {kinds.length === 0 ? (
        <Empty
          why="Nobody sent feedback in this time, so nothing is known of what users think."
          todo={
            <>
              Send thumbs, clicks and the like to <code>POST /v1/feedback</code>.
            </>
          }
        />
      ) : (
        <div class="sides">
          <div>
            <h3>Positive, by segment</h3>
            <Table
              caption="Share of positive opinions by segment"
              isCompact
              columns={[
                { title: 'Segment' },
                { title: 'Positive, 95 % bounds', isNumber: true },
                { title: 'n', isNumber: true },
                { title: 'Said', isNumber: true, isMinor: true },
                { title: 'Done', isNumber: true, isMinor: true },
              ]}
              rows={segments.map(([segment, outcome]) => ({
                key: segment,
                cells: [
                  segment,
                  <PositiveRatio outcome={outcome} />,
                  outcome.kind === 'ratio' ? count(outcome.n) : '0',
                  <RatioAlone outcome={opinions.explicit.get(segment)} />,
                  <RatioAlone outcome={opinions.implicit.get(segment)} />,
                ],
              }))}
            />
          </div>
          <div>
            <h3>By kind</h3>
            <Table
              caption="Feedback by kind"
              isCompact
              columns={[
                { title: 'Kind' },
                { title: 'All', isNumber: true },
                { title: 'Positive', isNumber: true },
                { title: 'Negative', isNumber: true },
                { title: 'Neutral', isNumber: true, isMinor: true },
              ]}
              rows={kinds.map(({ kind, feedback: all, positive, negative, neutral }) => ({
                key: kind,
                cells: [kind.replace('_', ' '), count(all), count(positive), count(negative), count(neutral)],
              }))}
            />
          </div>
        </div>
      )}
    </Section>
  );
}

function PositiveRatio({ outcome }: { readonly outcome: PositiveRatioOutcome }) {
  if (outcome.kind !== 'ratio') return <Missing>no opinion</Missing>;
  return <Bounded value={outcome.value} low={outcome.low} high={outcome.high} show={(share) => percent(share)} />;
}

function RatioAlone({ outcome }: { readonly outcome: PositiveRatioOutcome | undefined }) {
  return outcome?.kind === 'ratio' ? percent(outcome.value) : <Missing>none</Missing>;
}

function Segments({ latest }: { readonly latest: readonly MeasurementStatus[] }) {
  const shown = inReadingOrder(latest.filter(({ measure }) => bySegment.has(measure)));
  const segments = [...new Set(shown.map(({ segment }) => segment))];
  const measures = [...new Set(shown.map(({ measure }) => measure))];
  const cell = (segment: string, measure: string) => {
    const found = shown.find((one) => one.segment === segment && one.measure === measure);
    if (found === undefined) return <Missing>none</Missing>;
    if (found.isTooOld) return <Missing>withheld</Missing>;
    if (found.gap !== null || found.newest === null) return <Missing>{gapWords(found.gap?.reason ?? 'none')}</Missing>;
    const { value, ciLow, ciHigh } = found.newest;
    return <Bounded value={value} low={ciLow} high={ciHigh} show={shownMeasure(measure).show} />;
  };
  const ages = shown.flatMap(({ newest, gap }) => (gap ?? newest)?.ageSeconds ?? []);
  return (
    <Section
      id="segments"
      title="By segment"
      lead={
        ages.length === 0 ? undefined : (
          <>
            Latest measures; the oldest is of <Age seconds={Math.max(...ages)} />.
          </>
        )
      }
    >
      {segments.length === 0 ? (
        <Empty
          why="Live traffic has not been measured yet; it is measured every five minutes once live queries come."
          todo={
            <>
              Name what to tell apart under <code>segments: {'{keys: [...]}'}</code>.
            </>
          }
        />
      ) : (
        <Table
          caption="Latest measures by segment"
          isDense
          columns={[
            { title: 'Segment' },
            ...measures.map((measure) => ({ title: shownMeasure(measure).title, isNumber: true })),
          ]}
          rows={segments.map((segment) => ({
            key: segment,
            cells: [segment, ...measures.map((measure) => cell(segment, measure))],
          }))}
        />
      )}
    </Section>
  );
}

export function LiveStagesSection({
  stages,
  queries,
}: {
  readonly stages: readonly MeasuredStage[];
  readonly queries: number;
}) {
  return (
    <Section
      id="stages"
      title="Stages of the retriever"
      lead={`Of ${plural(queries, 'sampled query', 'sampled queries')} of the trailing window, weighted, with 95 % bounds. What a stage loses of the relevant documents takes judgments: golden runs tell it.`}
    >
      <Table
        caption="Stages of live queries"
        columns={[
          { title: 'Stage' },
          { title: 'Takes, p95', isNumber: true },
          { title: 'Documents', isNumber: true },
          { title: 'Leaves nothing', isNumber: true },
          { title: 'Of the answer among its first', isNumber: true },
          { title: 'n', isNumber: true, isMinor: true },
        ]}
        rows={stages.map((stage) => ({ key: stage.name, cells: cellsOf(stage) }))}
      />
    </Section>
  );
}

function cellsOf({ name, n, latencyP95Ms, documents, emptied, answered }: MeasuredStage) {
  return [
    name.replaceAll('_', ' '),
    shown(latencyP95Ms, (ms) => `${count(Math.round(ms))} ms`),
    shown(documents, compact),
    shown(emptied, percent),
    shown(answered, percent),
    count(n),
  ];
}

function shown(bounded: MeasuredStage['documents'], show: (value: number) => string) {
  if (bounded === null) return <Missing>not told</Missing>;
  return <Bounded value={bounded.value} low={bounded.ciLow} high={bounded.ciHigh} show={show} />;
}
