import { count, dollars, duration, percentage, plural, type Unit } from '../../core/format.ts';
import { verdictOf } from '../../golden/edge/pages/run-sections.ts';
import { runPath } from '../../report/console/links.ts';
import type { Content, ContentNode, Section } from '../../report/model/content.ts';
import {
  badge,
  empty,
  fact,
  facts,
  heading,
  lead,
  link,
  missing,
  section,
  table,
  value,
} from '../../report/model/show.ts';
import type { Candidate, Comparison, ShadowReport, VariantsReport } from '../report.ts';

export function shadowSection(report: ShadowReport): Section {
  return section(
    `shadow-${report.name}`,
    report.name,
    { lead: report.explanation, aside: verdictOf(report.verdict) },
    compared(report),
    factsOf(report),
  );
}

export function variantsSection(report: VariantsReport): Section {
  const { split, arms } = report;
  return section(
    'variants',
    'Variants',
    { lead: split.explanation, aside: split.verdict === 'mismatch' && badge('Split mismatch', 'warning') },
    notesOf(report).map((sentence) => lead(sentence)),
    arms.map((arm) => [heading(3, arm.name, ' ', verdictOf(arm.verdict)), lead(arm.explanation), compared(arm)]),
  );
}

function compared({ name, baseline, comparisons }: Candidate): Content {
  if (comparisons.length === 0) return empty('The pipeline has no golden set, so the retrievers cannot be compared.');
  return [
    table(`${name} compared with ${baseline}`, comparisons, [
      ['Measure', measureOf],
      ['Verdict', ({ verdict, called_on: on }) => [verdictOf(verdict), on !== null && ` since ${on}`]],
      [baseline, (one) => mean(one.baseline, unitOf(one)), 'number'],
      [name, (one) => mean(one.candidate, unitOf(one)), 'number'],
      [
        'Difference, bounds',
        (one) =>
          one.difference === null
            ? missing('too few data')
            : value(one.difference, unitOf(one) === 'score' ? 'difference' : 'points', one.ci_low, one.ci_high),
        'number',
      ],
      [
        'Smallest detectable',
        ({ smallest_detectable_difference: smallest }) => smallest !== null && value(smallest, 'score'),
        'minor number',
      ],
      ['n', sizeOf, 'number'],
    ]),
    comparisons.flatMap(sentencesOf).map((sentence) => lead(sentence)),
  ];
}

function measureOf(one: Comparison): Content {
  const run = one.test?.run_id ?? one.latest_run?.run_id;
  return run === undefined ? titleOf(one) : link(titleOf(one), runPath(run));
}

function mean(of: number | null, unit: Unit): ContentNode {
  return of === null ? missing('none yet') : value(of, unit);
}

function unitOf({ measure }: Comparison): Unit {
  return measure.startsWith('ndcg') ? 'score' : 'share';
}

const measureTitles: Readonly<Record<string, string>> = {
  positive_feedback: 'Positive feedback',
  clicked_queries: 'Queries with a click',
};

/** Returns the title of a comparison, such as `nDCG@10 on faq` or `Positive feedback`. */
function titleOf({ source, measure }: Comparison): string {
  const title = measureTitles[measure] ?? measure.replace('ndcg', 'nDCG');
  if (source.startsWith('golden:')) return `${title} on ${source.slice('golden:'.length)}`;
  return source === 'judged'
    ? `${title}, judged live queries`
    : measureTitles[measure] === undefined
      ? `${title}, judged`
      : title;
}

function sizeOf({ n, baseline_n: baseline, test, days, source }: Comparison): string {
  if (test !== null) return `${count(n)} \u00d7 ${plural(test.runs, 'run')}`;
  if (days === null) return '';
  return source === 'judged' ? `${count(n)} in ${plural(days, 'day')}` : `${count(baseline)}, ${count(n)}`;
}

function sentencesOf(one: Comparison): string[] {
  const { evidence, test, latest_run: run, left_out: leftOut } = one;
  const title = titleOf(one);
  return [
    ...(evidence === null ? [] : [`${title}: ${evidence.explanation}`]),
    ...(test === null && run !== null ? [`${title}: the latest run is ${run.status}. ${run.reason ?? ''}`.trim()] : []),
    ...(test === null || test.latency_p95_ms === null || test.baseline_latency_p95_ms === null
      ? []
      : [
          `${title}: the p95 latency is ${duration(test.latency_p95_ms / 1000)} for the shadow and ${duration(test.baseline_latency_p95_ms / 1000)} for the pipeline.`,
        ]),
    ...(leftOut === 0 ? [] : [`${title}: ${plural(leftOut, 'query', 'queries')} excluded.`]),
  ];
}

function share(of: ShadowReport['live']['overlap'], unit: Unit): Content {
  return of === null ? 'none yet' : [value(of.value, unit, of.ci_low, of.ci_high), ` n ${count(of.n)}`];
}

function factsOf({ live, calls }: ShadowReport): ContentNode {
  const { latency_ms: latency } = live;
  return facts(
    fact(
      `Live queries sent in ${live.days} days`,
      `${count(live.asked)}${live.failed === 0 ? '' : `, of which ${count(live.failed)} failed`}`,
    ),
    fact(
      'Rank-biased overlap with the results that users got',
      share(live.overlap, 'score'),
      '1 means identical results.',
    ),
    fact('Queries with different results', share(live.changed, 'share')),
    fact(
      'Latency on live queries, median and p95',
      latency === null ? 'none yet' : [value(latency.median, 'ms'), ', ', value(latency.p95, 'ms')],
    ),
    fact(
      'Queries today (UTC)',
      `${count(calls.today)} of ${count(calls.max_per_day)}`,
      calls.dollars_per_1000 !== 0 &&
        `${dollars(calls.dollars_today)} today, ${dollars(calls.dollars_per_1000)} per 1,000 queries.`,
    ),
  );
}

function notesOf({ tag, split, arms, confidence, first_day: first, last_day: last }: VariantsReport): string[] {
  const { mixed_sessions: mixed, unnamed_sessions: unnamed } = split;
  return [
    ...(mixed === 0 ? [] : [`Sessions excluded because they have queries in more than one arm: ${count(mixed)}.`]),
    ...(unnamed === 0
      ? []
      : [`Sessions excluded because their value of \`${tag}\` is not an arm in the config: ${count(unnamed)}.`]),
    ...(first === null ? [] : [`Whole days from ${first} to ${last ?? first} (UTC).`]),
    ...(arms.length === 0
      ? []
      : [
          `With ${percentage(confidence)} confidence, all intervals contain the true differences, no matter how often you check.`,
        ]),
  ];
}
