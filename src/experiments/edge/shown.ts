/** Reports as people read them: the facts, rows and sentences that the page and the terminal show alike. */

import { count, plural, score, signed } from '../../core/format.ts';
import { percent } from '../../core/text/spelling.ts';
import type { Fact } from '../../report/console/components.tsx';
import type { Candidate, Comparison, ShadowReport, VariantsReport } from '../report.ts';

/** How values and differences of a measure are written: shares in percent, scores with four decimals. */
export function formatOf(measure: string): {
  readonly value: (value: number) => string;
  readonly difference: (value: number) => string;
} {
  if (measure.startsWith('ndcg')) return { value: score, difference: signed };
  return {
    value: (share) => percent(share),
    difference: (share) => `${share < 0 ? '\u2212' : '+'}${percent(Math.abs(share))}`,
  };
}

const measureTitles: Readonly<Record<string, string>> = {
  positive_feedback: 'Positive feedback',
  clicked_queries: 'Queries with a click',
};

/** `nDCG@10 on faq`, `Positive feedback`. */
export function titleOf({ source, measure }: Comparison): string {
  const title = measureTitles[measure] ?? measure.replace('ndcg', 'nDCG');
  if (source.startsWith('golden:')) return `${title} on ${source.slice('golden:'.length)}`;
  return source === 'judged'
    ? `${title}, judged live queries`
    : measureTitles[measure] === undefined
      ? `${title}, judged`
      : title;
}

/** How much a comparison rests on. */
export function sizeOf({ n, baseline_n: baseline, test, days, source }: Comparison): string {
  if (test !== null) return `${count(n)} \u00d7 ${plural(test.runs, 'run')}`;
  if (days === null) return '';
  return source === 'judged' ? `${count(n)} in ${plural(days, 'day')}` : `${count(baseline)}, ${count(n)}`;
}

/** Below the table of a candidate. */
export function sentencesOf({ comparisons }: Candidate): string[] {
  return comparisons.flatMap((one) => {
    const { evidence, test, latest_run: run, left_out: leftOut } = one;
    const title = titleOf(one);
    return [
      ...(evidence === null ? [] : [`${title}: ${evidence.explanation}`]),
      ...(test === null && run !== null
        ? [`${title}: the latest run is ${run.status}. ${run.reason ?? ''}`.trim()]
        : []),
      ...(test === null || test.latency_p95_ms === null || test.baseline_latency_p95_ms === null
        ? []
        : [
            `${title}: 95 % of answers within ${test.latency_p95_ms.toFixed(0)} ms, of the pipeline within ${test.baseline_latency_p95_ms.toFixed(0)} ms.`,
          ]),
      ...(leftOut === 0 ? [] : [`${title}: ${plural(leftOut, 'query', 'queries')} left out.`]),
    ];
  });
}

function shareText(share: ShadowReport['live']['overlap'], show: (value: number) => string): string {
  if (share === null) return 'none yet';
  return `${show(share.value)} (${show(share.ci_low)} to ${show(share.ci_high)}, n ${count(share.n)})`;
}

/** What live queries say without a judgment, and what the shadow costs. */
export function factsOf({ live, calls }: ShadowReport): (Fact & { readonly value: string })[] {
  const { latency_ms: latency } = live;
  return [
    {
      name: `Live queries asked in ${live.days} days`,
      value: `${count(live.asked)}${live.failed === 0 ? '' : `, of which ${count(live.failed)} failed`}`,
    },
    {
      name: 'Rank-biased overlap with what users got',
      value: shareText(live.overlap, score),
      detail: '1 is the same list.',
    },
    { name: 'Lists that differ', value: shareText(live.changed, (share) => percent(share)) },
    {
      name: 'Latency on live queries, median and p95',
      value: latency === null ? 'none yet' : `${latency.median.toFixed(0)} ms, ${latency.p95.toFixed(0)} ms`,
    },
    {
      name: 'Questions today (UTC)',
      value: `${count(calls.today)} of ${count(calls.max_per_day)}`,
      ...(calls.dollars_per_1000 === 0
        ? {}
        : { detail: `$${calls.dollars_today.toFixed(2)} today, $${calls.dollars_per_1000.toFixed(2)} a thousand.` }),
    },
  ];
}

/** About the sessions of variants; the sentence about the split comes before it. */
export function notesOf({ tag, split, arms, confidence, first_day: first, last_day: last }: VariantsReport): string[] {
  const { mixed_sessions: mixed, unnamed_sessions: unnamed } = split;
  return [
    ...(mixed === 0 ? [] : [`${count(mixed)} sessions saw more than one arm and count for none.`]),
    ...(unnamed === 0 ? [] : [`${count(unnamed)} sessions have a value of \`${tag}\` that is no arm of the config.`]),
    ...(first === null ? [] : [`Whole days from ${first} to ${last ?? first} (UTC).`]),
    ...(arms.length === 0 ? [] : [`All bounds hold together with ${percent(confidence, 0)}, however often one looks.`]),
  ];
}
