/** Scores, and the queries of a run, as tables of pages. */

import { count, plural, score, signed } from '../../../core/format.ts';
import type { QueryOutcome } from '../../../core/model.ts';
import {
  Badge,
  Bounded,
  Bounds,
  Empty,
  Missing,
  Pager,
  QueryText,
  Section,
  Table,
  type Tone,
} from '../../../report/console/components.tsx';
import { runPath, runQueryPath, type TimeRange, within } from '../../../report/console/links.ts';
import type { Frame } from '../../../report/console/page.tsx';
import { type QueryView, queryViews } from '../../rules/listed-queries.ts';
import type { GoldenRun } from '../../rules/run.ts';
import type { ComparedJson, MetricJson, RunSummaryJson } from '../../run-summary-schema.ts';
import { answersGone } from '../../runs/stored-runs.ts';

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

export interface QueryRow {
  readonly id: string;
  /** Null where no text is shown. */
  readonly text: string | null;
  readonly outcome: QueryOutcome | null;
  readonly score: number;
  /** Of the run that it is compared with; null without one. */
  readonly before: number | null;
  readonly staleDocuments: number;
}

export interface QueryTableData {
  readonly view: QueryView;
  /** A metric key such as `ndcg@10`. */
  readonly by: string;
  /** Metric keys to choose from. */
  readonly measures: readonly string[];
  readonly rows: readonly QueryRow[];
  readonly total: number;
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** The run that it is compared with; null without one. */
  readonly against: string | null;
  /** The same, where the address names it. */
  readonly chosenAgainst: string | null;
}

const titles: Record<QueryView, string> = {
  worst: 'Worst',
  regressed: 'Most regressed',
  newly_empty: 'Newly empty',
  stale: 'Stale labels',
  failed: 'Failed',
};

const nothing: Record<QueryView, string> = {
  worst: 'The run has no answered query yet.',
  regressed: 'No query scores otherwise than in the run that it is compared with.',
  newly_empty: 'No query that had documents before came back without any.',
  stale: 'No label of this run is known to be stale.',
  failed: 'The retriever answered every query.',
};

const outcomeTones: Record<QueryOutcome, Tone> = {
  ok: 'neutral',
  empty: 'warning',
  error: 'critical',
  timeout: 'critical',
};

export function QueryTable(props: { readonly frame: Frame; readonly run: GoldenRun; readonly data: QueryTableData }) {
  const { frame, run, data } = props;
  const { view, by, measures, rows, total, page, pageSize, against, chosenAgainst } = data;
  const link = (query: Record<string, string | number>) =>
    `${within(frame.range, runPath(run.id), { view, by, against: chosenAgainst, ...query })}#queries`;
  const needsOther = view === 'regressed' || view === 'newly_empty';
  return (
    <Section
      id="queries"
      title="Query by query"
      lead={
        against === null
          ? 'Scores of each query.'
          : `Scores of each query, and what it scored in ${against}, where its labels are alive.`
      }
    >
      <div class="filters">
        <nav class="choices" aria-label="Which queries">
          <ul>
            {queryViews.map((one) => (
              <li key={one}>
                <a href={link({ view: one })} aria-current={one === view ? 'true' : undefined}>
                  {titles[one]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <form method="get" action={`${runPath(run.id)}#queries`} class="by">
          {Object.entries({
            ...frame.range.query,
            view,
            ...(chosenAgainst === null ? {} : { against: chosenAgainst }),
          }).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <label>
            Scored by
            <select name="by">
              {measures.map((measure) => (
                <option key={measure} value={measure} selected={measure === by}>
                  {measure}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">Apply</button>
        </form>
      </div>
      {run.answersGoneAt !== null ? (
        <Empty why={answersGone(run)} />
      ) : rows.length === 0 ? (
        <Empty
          why={needsOther && against === null ? 'There is no earlier completed run to compare with.' : nothing[view]}
          {...(needsOther && against === null ? { todo: 'Pin a baseline, or wait for the next run of this set.' } : {})}
        />
      ) : (
        <>
          <Table
            caption={`${titles[view]} queries by ${by}`}
            columns={[
              { title: 'Query' },
              { title: 'Outcome' },
              { title: by, isNumber: true },
              { title: 'Before', isNumber: true, isMinor: true },
              { title: 'Difference', isNumber: true },
              { title: 'Stale labels', isNumber: true, isMinor: true },
            ]}
            rows={rows.map((row) => ({
              key: row.id,
              cells: [
                <a
                  class="query-link"
                  href={within(frame.range, runQueryPath(run.id, row.id), { against: chosenAgainst })}
                >
                  <QueryText id={row.id} text={row.text} />
                </a>,
                row.outcome === null ? (
                  <Missing>not yet</Missing>
                ) : (
                  <Badge tone={outcomeTones[row.outcome]}>{row.outcome === 'ok' ? 'answered' : row.outcome}</Badge>
                ),
                score(row.score),
                row.before === null ? <Missing>none</Missing> : score(row.before),
                row.before === null ? '' : <Difference value={row.score - row.before} />,
                row.staleDocuments === 0 ? '' : count(row.staleDocuments),
              ],
            }))}
          />
          <Pager page={page} pageSize={pageSize} total={total} link={(to) => link({ page: to })} what="queries" />
        </>
      )}
    </Section>
  );
}

export function Difference({ value }: { readonly value: number }) {
  const kind = value < 0 ? 'fell' : value > 0 ? 'rose' : 'same';
  return <span class={`difference ${kind}`}>{signed(value)}</span>;
}
