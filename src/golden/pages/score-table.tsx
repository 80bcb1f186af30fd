/** Every score of a run with its bounds, and its difference to the baseline. */

import { Empty } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Badge, Bounded, Bounds, Missing, type Tone } from '../../console/components/values.tsx';
import { count, plural, score, signed } from '../../console/format.ts';
import { runPath, within } from '../../console/links.ts';
import type { TimeRange } from '../../console/time-range.ts';
import type { ComparedJson, MetricJson, RunSummaryJson } from '../run-summary-schema.ts';

type Verdict = ComparedJson['verdict'];

export const verdicts: Record<Verdict, { readonly tone: Tone; readonly text: string }> = {
  regression: { tone: 'critical', text: 'regression' },
  improvement: { tone: 'good', text: 'improvement' },
  no_change: { tone: 'neutral', text: 'no change' },
  inconclusive: { tone: 'no_data', text: 'inconclusive' },
};

export function ScoreTable({ summary, range }: { readonly summary: RunSummaryJson; readonly range: TimeRange }) {
  const metrics = Object.entries(summary.metrics);
  if (metrics.length === 0) {
    return (
      <Empty
        why={`The run is ${summary.status}, so it has no score that could be trusted.`}
        todo={summary.reason ?? 'See why above, mend it, and run the set again.'}
      />
    );
  }
  const against = summary.baseline ?? summary.deployment;
  const largest = Math.max(...metrics.map(([key]) => cutoffOf(key)));
  const ordered = metrics.toSorted(([a], [b]) => placeOf(a) - placeOf(b) || cutoffOf(a) - cutoffOf(b));
  const [shown, rest] = [
    ordered.filter(([key]) => cutoffOf(key) === largest),
    ordered.filter(([key]) => cutoffOf(key) !== largest),
  ];
  return (
    <>
      <Scores caption={`Scores at ${largest}`} metrics={shown} against={against} />
      {against === null ? (
        <p class="lead">There is no baseline to compare with. Pin a run that was well to see what changed since.</p>
      ) : (
        <p class="lead">
          Compared query by query with{' '}
          {summary.baseline === null ? 'the last run before the store or the model changed' : 'the pinned baseline'},{' '}
          <a href={within(range, runPath(against.run_id))}>{against.run_id}</a>, over{' '}
          {plural(against.n, 'query', 'queries')} whose labels are alive
          {against.excluded === 0 ? '' : `; ${count(against.excluded)} left out`}.
        </p>
      )}
      {rest.length === 0 ? null : (
        <details class="more">
          <summary>Other cut-offs ({rest.length} scores)</summary>
          <Scores caption="Scores at other cut-offs" metrics={rest} against={against} />
        </details>
      )}
      <SegmentTable summary={summary} />
    </>
  );
}

interface ScoresProps {
  readonly caption: string;
  readonly metrics: readonly (readonly [string, MetricJson])[];
  readonly against: ComparedJson | null;
}

function Scores({ caption, metrics, against }: ScoresProps) {
  return (
    <Table
      caption={caption}
      columns={[
        { title: 'Measure' },
        { title: 'Mean, 95 % bounds', isNumber: true },
        { title: 'n', isNumber: true },
        ...(against === null
          ? []
          : [
              { title: 'Before', isNumber: true, isMinor: true },
              { title: 'Difference, 95 % bounds', isNumber: true },
              { title: 'Reading' },
            ]),
      ]}
      rows={metrics.map(([key, metric]) => ({
        key,
        cells: [key, ...scoreCells(metric), ...(against === null ? [] : differenceCells(against, key))],
      }))}
    />
  );
}

/** The most telling first. */
const order = ['ndcg', 'hit_rate', 'mrr', 'recall', 'precision', 'map', 'f1', 'ndcg_exp', 'dcg', 'cg', 'unjudged'];

function placeOf(key: string): number {
  return order.indexOf(key.split('@')[0] ?? '');
}

function cutoffOf(key: string): number {
  return Number(key.split('@')[1] ?? 0);
}

function scoreCells({ mean, n, ci_low, ci_high }: MetricJson) {
  return [<Bounded value={mean} low={ci_low} high={ci_high} />, count(n)];
}

function differenceCells(against: ComparedJson, key: string) {
  const found = against.metrics[key];
  if (found === undefined) return [<Missing>none</Missing>, <Missing>not compared</Missing>, ''];
  const { tone, text } = verdicts[found.verdict];
  return [
    score(found.baseline),
    <span class="bounded">
      <strong>{signed(found.difference)}</strong>
      {found.ci_low === null || found.ci_high === null ? null : (
        <Bounds low={found.ci_low} high={found.ci_high} show={signed} />
      )}
    </span>,
    <Badge tone={tone}>{text}</Badge>,
  ];
}

function SegmentTable({ summary }: { readonly summary: RunSummaryJson }) {
  const segments = Object.entries(summary.segments);
  if (segments.length === 0) return null;
  const keys = Object.keys(summary.metrics).filter((key) => /^(ndcg|hit_rate|mrr)@/.test(key));
  const largest = Math.max(...keys.map((key) => Number(key.split('@')[1])));
  const shown = keys.filter((key) => key.endsWith(`@${largest}`));
  return (
    <details class="more">
      <summary>By segment ({segments.length})</summary>
      <Table
        caption="Scores by segment"
        columns={[
          { title: 'Segment' },
          ...shown.map((key) => ({ title: key, isNumber: true })),
          { title: 'n', isNumber: true },
        ]}
        rows={segments.map(([segment, metrics]) => ({
          key: segment,
          cells: [
            segment,
            ...shown.map((key) => {
              const metric = metrics[key];
              return metric === undefined ? (
                <Missing>none</Missing>
              ) : (
                <Bounded value={metric.mean} low={metric.ci_low} high={metric.ci_high} />
              );
            }),
            count(Object.values(metrics)[0]?.n ?? 0),
          ],
        }))}
      />
    </details>
  );
}
