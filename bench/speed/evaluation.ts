import { createEvaluator } from '../../src/math/ir/evaluate.ts';
import { type MetricKey, parseMetricKey } from '../../src/math/ir/metric-key.ts';
import { randomNumbers } from '../random-numbers.ts';
import { figure, type MeasureRow, timed } from './row.ts';

const RESULTS = 100;
const JUDGED = 20;

export function judgedRankings(queries: number, seed: number) {
  const random = randomNumbers(seed);
  return Array.from({ length: queries }, () => {
    const ids = Array.from({ length: RESULTS }, () => `doc-${random.below(1e9)}`);
    const judgments = new Map<string, number>();
    for (let i = 0; i < JUDGED; i++) {
      judgments.set(i % 2 === 0 ? (ids[random.below(RESULTS)] ?? '') : `doc-${random.below(1e9)}`, random.below(4));
    }
    return { ranking: ids, judgments };
  });
}

export const measures: readonly MetricKey[] = 'ndcg@10 mrr map recall@10 recall@20 recall@50 recall@100'
  .split(' ')
  .map((text) => parseMetricKey(text));

/** Measures how fast recalld scores rankings in memory. */
export const evaluation: MeasureRow = async (quick) => {
  const queries = judgedRankings(quick ? 200 : 10_000, 1);
  const rates: number[] = [];
  for (let round = 0; round < 8; round++) {
    const ms = await timed(() => {
      const evaluate = createEvaluator(measures, 1);
      for (const { ranking, judgments } of queries) evaluate(ranking, judgments);
    });
    // The first rounds warm up the compiler.
    if (round >= 3) rates.push((queries.length / ms) * 1000);
  }
  const rate = figure(`${queries.length} queries x ${RESULTS} results, 7 measures`, 'queries/s', rates);
  return {
    row: 'evaluation in memory',
    name: 'evaluation',
    figures: [rate],
    bars: [
      { what: 'queries scored on one core', value: rate.median, side: 'at least', limit: 100_000, unit: 'queries/s' },
    ],
    notes: [],
  };
};
