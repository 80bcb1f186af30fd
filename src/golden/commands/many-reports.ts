/** More than two configurations, as text for people and as JSON. */
import { formatTable, verdictText } from '../../cli/output.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import { signed } from '../../text/spelling.ts';
import type { ManyComparison } from '../rules/compare-many.ts';
import { metricComparisonJson } from '../runs/comparison-json.ts';

/** @param names of the configurations, in their order */
export function formatMany(names: readonly string[], { n, measures, primary }: ManyComparison): string {
  const letters = names.map((_, place) => letterOf(place));
  const unbeaten = primary.unbeaten.map((place) => letterOf(place)).join(', ');
  const by = formatMetricKey(primary.key);
  return [
    ...names.map((name, place) => `${letterOf(place)}  ${name}`),
    '',
    formatTable(
      ['measure', ...letters],
      measures.map(({ key, means }) => [formatMetricKey(key), ...means.map((value) => value.toFixed(4))]),
      1,
    ),
    '',
    `By ${by} none of the others is better than ${unbeaten}, over ${n} queries.`,
    '',
    formatTable(
      ['pair', 'verdict', 'difference', '95 %', 'p', 'p, Holm', 'also'],
      primary.pairs.map(({ before, after, verdict, metric, pHolm }, place) => [
        `${letterOf(before)} to ${letterOf(after)}`,
        verdictText(verdict),
        signed(metric.difference, 4),
        `${signed(metric.ciLow, 4)} to ${signed(metric.ciHigh, 4)}`,
        metric.p.toFixed(4),
        pHolm.toFixed(4),
        measures
          .filter((one) => one !== primary && one.pairs[place]?.verdict === verdict && verdict !== 'inconclusive')
          .map(({ key }) => formatMetricKey(key))
          .join(' '),
      ]),
      2,
    ),
  ].join('\n');
}

function letterOf(place: number): string {
  return place < 26 ? String.fromCodePoint(65 + place) : String(place + 1);
}

/** @param names of the configurations, in their order */
export function manyJson(names: readonly string[], { n, measures, primary }: ManyComparison) {
  return {
    n,
    primary: formatMetricKey(primary.key),
    unbeaten: primary.unbeaten.map((place) => names[place]),
    configurations: names.map((name, place) => ({
      name,
      metrics: Object.fromEntries(measures.map(({ key, means }) => [formatMetricKey(key), means[place]])),
    })),
    pairs: primary.pairs.map(({ before, after, verdict }, place) => ({
      baseline: names[before],
      candidate: names[after],
      verdict,
      metrics: Object.fromEntries(
        measures.flatMap(({ key, pairs }) => {
          const pair = pairs[place];
          if (pair === undefined) return [];
          const { metric, pHolm, verdict: found } = pair;
          return [[formatMetricKey(key), { ...metricComparisonJson(metric), p_holm: pHolm, verdict: found }]];
        }),
      ),
    })),
  };
}
