/** The queries of a run: the worst, the most regressed, those that lost every document, those with stale labels. */

import { Pager } from '../../console/components/navigation.tsx';
import { Empty, Section } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Badge, Missing, QueryText, type Tone } from '../../console/components/values.tsx';
import { count, score, signed } from '../../console/format.ts';
import { runPath, runQueryPath, within } from '../../console/links.ts';
import type { Frame } from '../../console/page.tsx';
import type { QueryOutcome } from '../../model.ts';
import { type QueryView, queryViews } from '../rules/listed-queries.ts';
import type { GoldenRun } from '../rules/run.ts';

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
      {rows.length === 0 ? (
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
