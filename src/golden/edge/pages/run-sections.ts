/** Sections about a golden run, for its page and for the terminal. */
import { count, interval, percentage, plural } from '../../../core/format.ts';
import { ALL_SEGMENT, type Verdict } from '../../../core/model.ts';
import { formatMetricKey } from '../../../math/ir/metric-key.ts';
import { checkHistory, runPath, runQuery } from '../../../report/console/links.ts';
import type { Column, Content, ContentNode, Section, Table, Tone } from '../../../report/model/content.ts';
import {
  badge,
  code,
  empty,
  lead,
  link,
  missing,
  more,
  paragraph,
  section,
  table,
  value,
  verdictBadge,
  why,
} from '../../../report/model/show.ts';
import { staleParts } from '../../rules/labels.ts';
import type { SegmentScore } from '../../rules/run.ts';
import type { ComparedJson, MetricJson, RunSummaryJson } from '../../run-summary-schema.ts';
import type { GoldenBaseline } from '../../sql/golden-baselines.ts';
import { stagesSection } from './stages.ts';

export function runReport(run: RunSummaryJson): Content {
  const { labels, queries, golden_set: set } = run;
  return [
    paragraph(
      `${run.purpose === 'full' ? 'Golden run' : 'Sentinel'} ${run.run_id}: ${set} version ${run.golden_set_version} on ${run.pipeline}, ${run.status}`,
    ),
    [run.cause, run.reason].map((sentence) => sentence && paragraph(sentence)),
    paragraph(outcomes(run)),
    run.answers_deleted_at !== null &&
      paragraph(
        `The query results of this run were deleted on ${run.answers_deleted_at.slice(0, 10)} (keep_answers); the scores are kept.`,
      ),
    run.warnings.map((sentence) => paragraph(sentence)),
    run.failure !== null && paragraph(`First error: ${run.failure.explanation}`),
    labels.lost !== null &&
      labels.lost > 0 &&
      paragraph(
        `${labels.lost} of the ${labels.probed} judged documents in ${set} are missing from the store and have no replacement. Missing documents count as not found.`,
      ),
    labels.stale !== null &&
      labels.stale > 0 &&
      paragraph(
        `Stale labels: ${staleParts(labels.stale, labels.deleted ?? 0)} of the ${labels.probed} judged documents in ${set}${queries.stale === 0 ? '' : `, and ${queries.stale === 1 ? '1 query has' : `${queries.stale} queries have`} no other relevant document`}. Update the judgments with \`recalld golden check --fix\`.`,
      ),
    checksSection(run),
    forbiddenSection(run),
    noAnswerSection(run),
    Object.keys(run.metrics).length > 0 && scoresSection(run),
    stagesSection(run),
  ];
}

function outcomes({ queries, no_answer: none }: RunSummaryJson): string {
  const failed = queries.error + queries.timeout;
  const scored = failed + queries.empty > (none?.n ?? 0);
  const tail = scored ? '; queries without results count as 0 in every mean' : '';
  return `${plural(queries.total, 'query', 'queries')}: ${queries.ok} ok, ${queries.empty} empty, ${queries.error} error, ${queries.timeout} timeout${tail}`;
}

/** Maximum number of rows in the table of forbidden results; a longer table would hide the scores. */
const MAX_FORBIDDEN = 50;

const worstFirst: readonly Verdict[] = ['critical', 'warning', 'no_data', 'ok'];

export function checksSection({ checks, pipeline }: RunSummaryJson): Content {
  if (checks.length === 0) return null;
  const ordered = checks.toSorted((a, b) => worstFirst.indexOf(a.verdict) - worstFirst.indexOf(b.verdict));
  return section(
    'checks',
    'Checks',
    {},
    table('Checks of this run', ordered, [
      ['Check', ({ name, explanation }) => [checkHistory(pipeline, name), why(explanation)]],
      ['Verdict', ({ verdict, blind }) => verdictBadge(verdict, blind)],
      ['Value', ({ value: last }) => last !== null && value(last, 'score'), 'number'],
      ['Threshold', ({ threshold }) => value(threshold, 'score'), 'number'],
    ]),
  );
}

export function forbiddenSection({ forbidden, run_id: run }: RunSummaryJson): Content {
  if (forbidden.length === 0) return null;
  return section(
    'forbidden',
    'Forbidden documents',
    {
      lead: 'The golden set forbids these documents, but the retriever returned them twice: in the run, and in response to a second request.',
    },
    table('Forbidden documents that were returned', forbidden.slice(0, MAX_FORBIDDEN), [
      ['Document', ({ document }) => code(document)],
      ['Query', ({ query }) => runQuery(run, query)],
      ['Rank', ({ rank }) => rank, 'number'],
    ]),
    forbidden.length > MAX_FORBIDDEN &&
      lead(`And ${count(forbidden.length - MAX_FORBIDDEN)} more; \`recalld runs show ${run} --json\` lists all.`),
  );
}

export function noAnswerSection({ no_answer: found, run_id: run }: RunSummaryJson): Content {
  if (found === null) return null;
  const { false_answer_ratio: ratio, ci_low: low, ci_high: high, n, answered, failed, worst } = found;
  return section(
    'no-answer',
    'Queries without an answer',
    {
      lead: `The retriever returned documents for ${count(answered)} of ${plural(n, 'unanswerable query', 'unanswerable queries')} and failed for ${count(failed)}: ${percentage(ratio)} (${interval(low, high, 'share')}). An empty result would be correct.`,
    },
    worst.length > 0 &&
      table('Unanswerable queries that returned documents', worst, [
        ['Query', ({ query }) => runQuery(run, query)],
        ['Documents', ({ documents }) => documents, 'number'],
        ['Highest score', ({ score }) => score !== null && value(score, 'score'), 'number'],
      ]),
    answered > worst.length && lead(`And ${count(answered - worst.length)} more.`),
  );
}

export function scoresSection(summary: RunSummaryJson, previous: readonly SegmentScore[] | null = null): Section {
  return section(
    'scores',
    'Scores',
    {
      lead: summary.provisional
        ? 'The run is in progress; these are the scores of the queries that have been run so far.'
        : 'Means over all judged queries with 95 % confidence intervals; a query without results counts as 0.',
    },
    scores(summary, previous),
  );
}

type Metric = readonly [key: string, metric: MetricJson];

function scores(summary: RunSummaryJson, previous: readonly SegmentScore[] | null): Content {
  const metrics = Object.entries(summary.metrics);
  if (metrics.length === 0) {
    return empty(
      `The run is ${summary.status}, so it has no valid scores.`,
      summary.reason ?? 'Fix the problem above, then run the set again.',
    );
  }
  const against = summary.baseline ?? summary.deployment;
  const largest = Math.max(...metrics.map(([key]) => cutoffOf(key)));
  const ordered = metrics.toSorted(([a], [b]) => placeOf(a) - placeOf(b) || cutoffOf(a) - cutoffOf(b));
  const atLargest = ordered.filter(([key]) => cutoffOf(key) === largest);
  const rest = ordered.filter(([key]) => cutoffOf(key) !== largest);
  return [
    scoreTable(`Scores at ${largest}`, atLargest, against, previous),
    against === null
      ? lead('No baseline to compare with. Pin a good run to compare later runs with it.')
      : comparedWith(summary.baseline === null ? BEFORE_CHANGE : 'the pinned baseline', against),
    summary.baseline !== null &&
      summary.deployment !== null &&
      more(
        `Against ${BEFORE_CHANGE}`,
        comparedWith(BEFORE_CHANGE, summary.deployment),
        scoreTable('Scores before and after the change', atLargest, summary.deployment, null),
      ),
    rest.length > 0 &&
      more(`Other cutoffs (${rest.length} scores)`, scoreTable('Scores at other cutoffs', rest, against, previous)),
    segments(summary),
  ];
}

const BEFORE_CHANGE = 'the last run before the store or the model changed';

function comparedWith(what: string, { run_id: run, n, excluded, verdict, advice }: ComparedJson): Content {
  return [
    lead(
      `Compared query by query with ${what}, `,
      link(run, runPath(run)),
      `, over ${plural(n, 'query', 'queries')} without stale labels${excluded === 0 ? '' : `; ${count(excluded)} excluded`}: `,
      verdictOf(verdict),
    ),
    advice.map((sentence) => lead(sentence)),
  ];
}

function scoreTable(
  caption: string,
  metrics: readonly Metric[],
  against: ComparedJson | null,
  previous: readonly SegmentScore[] | null,
): Table {
  const overall = previous?.filter(({ segment }) => segment === ALL_SEGMENT) ?? [];
  const rows = metrics.map(([key, score]) => ({
    key,
    score,
    last: overall.find((one) => formatMetricKey(one) === key),
    found: against?.metrics[key],
  }));
  type Row = (typeof rows)[number];
  const differences: readonly Column<Row>[] = [
    [
      'Difference from baseline, 95 % CI',
      ({ found }) =>
        found === undefined
          ? missing('not compared')
          : value(found.difference, 'difference', found.ci_low, found.ci_high),
      'number',
    ],
    ['p', ({ found }) => found !== undefined && value(found.p ?? found.p_randomization, 'p'), 'minor number'],
    [
      'Won, lost, tied',
      ({ found }) => found !== undefined && [found.wins, found.losses, found.ties].map(count).join(', '),
      'minor number',
    ],
    ['Verdict', ({ found }) => found !== undefined && verdictOf(found.verdict)],
  ];
  return table(caption, rows, [
    ['Measure', ({ key }) => key],
    previous === null ? null : ['Previous run', ({ last }) => meanOf(last?.mean), 'number'],
    against === null ? null : ['Baseline', ({ found }) => meanOf(found?.baseline), 'number'],
    ['This run, 95 % CI', ({ score }) => metric(score), 'number'],
    ['n', ({ score }) => score.n, 'number'],
    ...(against === null ? [] : differences),
  ]);
}

function meanOf(mean: number | undefined): Content {
  return mean === undefined ? missing('none') : value(mean, 'score');
}

const tones: Readonly<Record<ComparedJson['verdict'] | 'no_data', Tone>> = {
  regression: 'critical',
  improvement: 'good',
  no_change: 'neutral',
  inconclusive: 'no_data',
  no_data: 'no_data',
};

export function verdictOf(verdict: ComparedJson['verdict'] | 'no_data'): ContentNode {
  return badge(verdict.replace('_', ' '), tones[verdict]);
}

/** Measures, the most informative first. */
const order = [
  'all_found',
  'union_recall',
  'ndcg',
  'hit_rate',
  'mrr',
  'recall',
  'precision',
  'map',
  'f1',
  'ndcg_exp',
  'dcg',
  'cg',
  'unjudged',
];

function placeOf(key: string): number {
  return order.indexOf(key.split('@')[0] ?? '');
}

function cutoffOf(key: string): number {
  return Number(key.split('@')[1] ?? 0);
}

function segments({ segments: all, metrics }: RunSummaryJson): Content {
  const rows = Object.entries(all);
  if (rows.length === 0) return null;
  const keys = Object.keys(metrics).filter((key) => /^(ndcg|hit_rate|mrr)@/.test(key));
  const largest = Math.max(...keys.map(cutoffOf));
  type Row = (typeof rows)[number];
  return more(
    `By segment (${rows.length})`,
    table('Scores by segment', rows, [
      ['Segment', ([segment]) => segment],
      ...keys
        .filter((key) => cutoffOf(key) === largest)
        .map((key): Column<Row> => [key, ([, { [key]: found }]) => metric(found), 'number']),
      ['n', ([, scored]) => Object.values(scored)[0]?.n ?? 0, 'number'],
    ]),
  );
}

function metric(found: MetricJson | undefined): Content {
  return found === undefined ? missing('none') : value(found.mean, 'score', found.ci_low, found.ci_high);
}

export function baselineNote({ noise, excludedRuns }: GoldenBaseline): Content {
  const reruns = Object.values(noise[ALL_SEGMENT] ?? {})[0]?.reruns ?? null;
  return [
    lead(
      'This run is the pinned baseline: later runs are compared with it. ',
      reruns === null
        ? 'The retriever noise is unknown because fewer than three runs are suitable for measuring it.'
        : `The retriever noise was measured on ${reruns} clean runs.`,
    ),
    excludedRuns.length > 0 &&
      table('Runs excluded from the noise measurement', excludedRuns, [
        ['Run', ({ runId }) => link(runId, runPath(runId))],
        ['Reason', ({ reason }) => reason],
      ]),
  ];
}
