/**
 * Measures how much a judge's grades can narrow intervals relative to human judgments only. Computes how much of the
 * variance of human scores each of two estimators explains. The first is the score that recalld computes from the
 * judge's grades. The second is the best possible estimator: the mean human score of all queries to which the judge
 * gave the same grades at the same ranks.
 *
 *     npx tsx bench/judging-limit.ts [--quick] [--out FILE]
 */
import { pathToFileURL } from 'node:url';
import { type ScoredMeasure, scoredMeasures } from '../src/judging/rules/judged-scores.ts';
import { mean } from '../src/math/stats/descriptive.ts';
import { createWorld, noiseFor, type Query } from './judging/world.ts';
import { randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface LimitCell {
  readonly measure: ScoredMeasure;
  readonly bias: number;
  /** Share of the variance in human scores that recalld's score explains, 0 to 1. */
  readonly byScore: number;
  /** Share of the variance in human scores that the best possible use of the grades explains, 0 to 1. */
  readonly byAny: number;
}

export interface LimitResult {
  readonly provenance: Provenance;
  readonly kappa: number;
  readonly queries: number;
  readonly cells: readonly LimitCell[];
}

const SEED = 20_261_215;
const KAPPA = 0.8;
const SESSIONS = 60_000;
/**
 * Weight of the overall mean, as a number of queries: the mean of each grade pattern is shrunk toward the overall mean.
 */
const PRIOR = 5;

export function measureLimit(quick: boolean): LimitResult {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  let queries = 0;
  const cells = [-0.3, 0, 0.3].flatMap((bias) => {
    const noise = noiseFor({ bias, kappa: KAPPA }, random);
    const all = createWorld({ bias, noise }, quick ? 1000 : SESSIONS, random).sessions.flat();
    queries = all.length;
    return scoredMeasures.map((measure) => ({ measure, bias, ...sharesOf(all, measure) }));
  });
  return {
    provenance: provenance(commandOf('judging-limit', 1), SEED, startedAt),
    kappa: KAPPA,
    queries,
    cells,
  };
}

function sharesOf(queries: readonly Query[], measure: ScoredMeasure): Pick<LimitCell, 'byScore' | 'byAny'> {
  const people = queries.map((query) => query.people[measure]);
  const model = queries.map((query) => query.model[measure]);
  const [peopleMean, modelMean] = [mean(people), mean(model)];
  const variance = mean(people.map((y) => (y - peopleMean) ** 2));
  const modelVariance = mean(model.map((f) => (f - modelMean) ** 2));
  const covariance = mean(people.map((y, at) => (y - peopleMean) * ((model[at] ?? 0) - modelMean)));
  // Computes the mean human score for each grade pattern on one half of the queries, and tests it on the other half.
  const patterns = queries.map(({ grades }) => grades.map(([, grade]) => grade).join(''));
  const errors = [0, 1].flatMap((half) => {
    const sums = new Map<string, { sum: number; n: number }>();
    for (const [at, pattern] of patterns.entries()) {
      if (at % 2 === half) continue;
      const sum = sums.get(pattern) ?? { sum: PRIOR * peopleMean, n: PRIOR };
      sums.set(pattern, { sum: sum.sum + (people[at] ?? 0), n: sum.n + 1 });
    }
    return patterns.flatMap((pattern, at) => {
      if (at % 2 !== half) return [];
      const { sum, n } = sums.get(pattern) ?? { sum: peopleMean, n: 1 };
      return [((people[at] ?? 0) - sum / n) ** 2];
    });
  });
  return { byScore: covariance ** 2 / (variance * modelVariance), byAny: 1 - mean(errors) / variance };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out } = readArguments(process.argv.slice(2), 'judging-limit');
  const result = measureLimit(quick);
  for (const { measure, bias, byScore, byAny } of result.cells)
    console.log(
      `${measure}, bias ${bias}: ${byScore.toFixed(3)} by its score, ${byAny.toFixed(3)} by any use of the grades`,
    );
  if (out !== null) writeResult(out, result);
}
