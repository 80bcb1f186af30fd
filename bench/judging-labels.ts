/**
 * Measures how wide the intervals of judged live relevance are for different numbers of human-graded live queries, both
 * without a judge and with a judge that grades ten times as many queries as people do.
 *
 *     npx tsx bench/judging-labels.ts
 */
import { judgedMean, scoreBounds } from '../src/judging/rules/judged-mean.ts';
import { mean } from '../src/math/stats/descriptive.ts';
import { createWorld, drawFrom, noiseFor } from './judging/world.ts';
import { randomNumbers } from './random-numbers.ts';

const SEED = 20_261_125;
const SESSIONS = 20_000;
const DRAWS = 100;
const measures = ['ndcg', 'precision', 'hit_rate'] as const;

const random = randomNumbers(SEED);
const worlds = [0.4, 0.6, 0.8].map((kappa) => {
  const noise = noiseFor({ bias: 0.2, kappa }, random);
  return { kappa, world: createWorld({ bias: 0.2, noise }, SESSIONS, random) };
});

const half = (widths: readonly number[]): string => (mean(widths) / 2).toFixed(3);

console.log('| Queries graded by people | Score | Without a judge | Kappa 0.4 | Kappa 0.6 | Kappa 0.8 |');
console.log('| --- | --- | --- | --- | --- | --- |');
for (const people of [20, 50, 140, 300]) {
  const widths = new Map<string, number[]>();
  const note = (column: string, queries: Parameters<typeof judgedMean>[0]): void => {
    const found = judgedMean(queries);
    if (found === null) return;
    const { low, high } = scoreBounds(found);
    widths.set(column, [...(widths.get(column) ?? []), high - low]);
  };
  for (const { kappa, world } of worlds) {
    for (let draw = 0; draw < DRAWS; draw++) {
      const drawn = drawFrom(world, { people, model: 10 * people }, random);
      for (const measure of measures) {
        const queries = drawn.scores(measure);
        note(`${measure} ${kappa}`, queries);
        note(
          `${measure} alone`,
          queries.flatMap((one) => (one.people === null ? [] : [{ ...one, model: null }])),
        );
      }
    }
  }
  for (const measure of measures) {
    const cells = ['alone', ...worlds.map(({ kappa }) => kappa)].map((column) =>
      half(widths.get(`${measure} ${column}`) ?? []),
    );
    console.log(`| ${[people, `\`live_${measure}\``, ...cells.map((cell) => `± ${cell}`)].join(' | ')} |`);
  }
}
