/** Paged table of the queries of a run. */

import type { QueryOutcome } from '../../../core/model.ts';
import { runPath, runQuery } from '../../../report/console/links.ts';
import type { Content, Section, Tone } from '../../../report/model/content.ts';
import {
  badge,
  choices,
  empty,
  group,
  link,
  missing,
  query,
  section,
  styled,
  table,
  value,
} from '../../../report/model/show.ts';
import { type QueryView, queryViews } from '../../rules/listed-queries.ts';
import type { GoldenRun } from '../../rules/run.ts';
import { describeDeletedAnswers } from '../../runs/stored-runs.ts';

export interface QueryRow {
  readonly id: string;
  /** Query text; null if texts must not be shown. */
  readonly text: string | null;
  readonly outcome: QueryOutcome | null;
  readonly score: number;
  /** Score in the compared run; null if there is no such run. */
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
  /** The run with which this run is compared; null if there is none. */
  readonly against: string | null;
  /** The compared run, if it is specified in the URL. */
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
  regressed: 'No query scores lower than in the compared run.',
  newly_empty: 'No query lost all of its results.',
  stale: 'No stale labels are known for this run.',
  failed: 'The retriever answered every query.',
};

const outcomeTones: Record<QueryOutcome, Tone> = {
  ok: 'neutral',
  empty: 'warning',
  error: 'critical',
  timeout: 'critical',
};

export function queryTable(run: GoldenRun, data: QueryTableData): Section {
  const { view, by, measures, against, chosenAgainst } = data;
  const linked = (text: string, rest: Record<string, string | number>) =>
    link(text, runPath(run.id), { view, by, against: chosenAgainst, ...rest }, 'queries');
  return section(
    'queries',
    'Query by query',
    {
      lead:
        against === null
          ? 'Scores of each query.'
          : `Scores of each query, and its score in ${against} unless its labels are stale.`,
    },
    group(
      'filters',
      choices(
        'Which queries',
        queryViews.map((one) => [linked(titles[one], { view: one }), one === view]),
      ),
      {
        kind: 'form',
        method: 'get',
        action: `${runPath(run.id)}#queries`,
        hidden: { view, against: chosenAgainst },
        content: [
          {
            kind: 'input',
            type: 'select',
            name: 'by',
            label: 'Scored by',
            value: by,
            options: measures.map((one) => ({ value: one, text: one })),
          },
          { kind: 'button', text: 'Apply' },
        ],
      },
    ),
    listed(run, data, linked),
  );
}

function listed(
  run: GoldenRun,
  { view, by, rows, total, page, pageSize, against, chosenAgainst }: QueryTableData,
  linked: (text: string, rest: Record<string, string | number>) => ReturnType<typeof link>,
): Content {
  if (run.answersDeletedAt !== null) return empty(describeDeletedAnswers(run));
  if (rows.length === 0)
    return against === null && (view === 'regressed' || view === 'newly_empty')
      ? empty('No earlier completed run to compare with.', 'Pin a baseline, or wait for the next run of this set.')
      : empty(nothing[view]);
  return [
    table(`${titles[view]} queries by ${by}`, rows, [
      ['Query', ({ id, text }) => ({ ...runQuery(run.id, id, query(id, text)), query: { against: chosenAgainst } })],
      [
        'Outcome',
        ({ outcome }) =>
          outcome === null ? missing('not yet') : badge(outcome === 'ok' ? 'answered' : outcome, outcomeTones[outcome]),
      ],
      against === null
        ? null
        : [`${by} before`, ({ before }) => (before === null ? missing('none') : value(before, 'score')), 'number'],
      [against === null ? by : 'Now', ({ score }) => value(score, 'score'), 'number'],
      against === null
        ? null
        : ['Difference', ({ before, score }) => before !== null && difference(score - before), 'number'],
      ['Stale labels', ({ staleDocuments }) => staleDocuments !== 0 && staleDocuments, 'minor number'],
    ]),
    { kind: 'pager', what: 'queries', page, pageSize, total, link: (text, to) => linked(text, { page: to }) },
  ];
}

/** Marks a drop or a rise by color and sign. */
export function difference(of: number): Content {
  const shown = value(of, 'difference');
  return of === 0 ? shown : styled(of < 0 ? 'fell' : 'rose', shown);
}
