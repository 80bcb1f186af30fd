import type { Context } from '../../../core/context.ts';
import type { QueryOutcome } from '../../../core/model.ts';
import { formatMetricKey, isUnionMeasure } from '../../../math/ir/metric-key.ts';
import { pageOf, type Query } from '../../../report/console/http/visit.ts';
import { runPath, runQuery } from '../../../report/console/links.ts';
import { showsTextOf } from '../../../report/console/shows-text.ts';
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
import { runMeasures, runMetricKeys } from '../../rules/score-run.ts';
import { readRunTable } from '../../runs/run-summary.ts';
import { describeDeletedAnswers } from '../../runs/stored-runs.ts';

const PAGE_SIZE = 25;

type QueryTableData = Awaited<ReturnType<typeof readQueryTable>>;

/** @param isFailing true to show the queries with the largest drops first */
export async function readQueryTable(
  context: Context,
  run: GoldenRun,
  against: GoldenRun | null,
  isFailing: boolean,
  scored: Readonly<Record<string, unknown>>,
  query: Query,
) {
  const { cutoffs } = run.settings;
  // Union measures are defined only for runs that contain queries with steps.
  const keys = runMetricKeys(cutoffs, runMeasures).filter(
    (one) => !isUnionMeasure(one.measure) || Object.hasOwn(scored, formatMetricKey(one)),
  );
  const key = keys.find((one) => formatMetricKey(one) === query['by']) ?? {
    measure: 'ndcg',
    k: Math.max(...cutoffs),
  };
  const page = pageOf(query);
  // A run without valid scores cannot be compared.
  const isComparable =
    run.status === 'completed' && against?.status === 'completed' && against.answersDeletedAt === null;
  const other = isComparable ? against : null;
  const view = queryViews.find((one) => one === query['view']) ?? (other !== null && isFailing ? 'regressed' : 'worst');
  const from = (page - 1) * PAGE_SIZE;
  const listed =
    run.answersDeletedAt === null
      ? await readRunTable(context, run, other, view, key, from, PAGE_SIZE)
      : { page: [], total: 0 };
  return {
    view,
    by: formatMetricKey(key),
    measures: keys.map(formatMetricKey),
    rows: listed.page,
    showsText: showsTextOf(context, run.pipeline),
    total: listed.total,
    page,
    against: other?.id ?? null,
    /** Id of the run to compare with, if the URL specifies one; otherwise null. */
    chosenAgainst: query['against'] ?? null,
  };
}

const titles: Record<QueryView, string> = {
  worst: 'Worst',
  regressed: 'Most regressed',
  newly_empty: 'Newly empty',
  stale: 'Stale labels',
  failed: 'Failed',
};

const nothing: Record<QueryView, string> = {
  worst: 'The run has no results yet.',
  regressed: 'No query scores lower than in the compared run.',
  newly_empty: 'No query lost all of its results.',
  stale: 'No stale labels are known for this run.',
  failed: 'No query failed.',
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
          ? 'Score of each query.'
          : `Score of each query, before (${against}) and now. Queries with a stale label have no earlier score, because their judgments are out of date.`,
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
  { view, by, rows, showsText, total, page, against, chosenAgainst }: QueryTableData,
  linked: (text: string, rest: Record<string, string | number>) => ReturnType<typeof link>,
): Content {
  if (run.answersDeletedAt !== null) return empty(describeDeletedAnswers(run));
  if (rows.length === 0)
    return against === null && (view === 'regressed' || view === 'newly_empty')
      ? empty('No earlier completed run to compare with.', 'Pin a baseline, or wait for the next run of this set.')
      : empty(nothing[view]);
  return [
    table(`${titles[view]} queries by ${by}`, rows, [
      [
        'Query',
        ({ query: { id, text } }) => ({
          ...runQuery(run.id, id, query(id, showsText ? text : null)),
          query: { against: chosenAgainst },
        }),
      ],
      rows.every(({ outcome }) => outcome === 'ok')
        ? null
        : [
            'Outcome',
            ({ outcome }) =>
              outcome === null
                ? missing('not yet')
                : badge(outcome === 'ok' ? 'answered' : outcome, outcomeTones[outcome]),
          ],
      against === null
        ? null
        : [`${by} before`, ({ before }) => (before === null ? missing('none') : value(before, 'score')), 'number'],
      [against === null ? by : 'Now', ({ score }) => value(score, 'score'), 'number'],
      against === null
        ? null
        : ['Difference', ({ before, score }) => before !== null && difference(score - before), 'number'],
      rows.every(({ staleDocuments }) => staleDocuments === 0)
        ? null
        : ['Stale labels', ({ staleDocuments }) => staleDocuments !== 0 && staleDocuments, 'minor number'],
    ]),
    {
      kind: 'pager',
      what: 'queries',
      page,
      pageSize: PAGE_SIZE,
      total,
      link: (text, to) => linked(text, { page: to }),
    },
  ];
}

export function difference(of: number): Content {
  const shown = value(of, 'difference');
  return of === 0 ? shown : styled(of < 0 ? 'fell' : 'rose', shown);
}
