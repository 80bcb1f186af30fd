/**
 * Measures how often the intervals of judged live relevance contain the true value, and how much narrower a judge makes
 * them.
 *
 *     npx tsx bench/judging-coverage.ts [--quick] [--scale N] [--out FILE]
 *
 * `--scale 4` simulates four times as many samples.
 */
import { pathToFileURL } from 'node:url';
import { agreementOf } from '../src/judging/rules/agreement.ts';
import { type JudgedQuery, judgedMean, scoreBounds } from '../src/judging/rules/judged-mean.ts';
import { type ScoredMeasure, scoredMeasures } from '../src/judging/rules/judged-scores.ts';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { type Budget, createWorld, drawFrom, type Judge, noiseFor, type World } from './judging/world.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

export interface JudgedCell {
  readonly judge: Judge;
  readonly budget: Budget;
  readonly bound: ScoredMeasure | 'agreement';
  /** Number of samples with an interval. */
  readonly draws: number;
  /** Share of these samples whose interval contained the true value. */
  readonly coverage: ShareWithBounds;
  /** Mean width of the intervals, relative to intervals from human judgments only; null for the agreement. */
  readonly width: number | null;
  /** Mean estimate minus the true value. */
  readonly bias: number;
}

export interface JudgingResult {
  readonly provenance: Provenance;
  readonly sessions: number;
  readonly cells: readonly JudgedCell[];
}

const SEED = 20_261_124;
const DRAWS = 400;
const SESSIONS = 20_000;
const ROUNDING = 1e-9;

const biases = [-0.3, 0, 0.3];
const kappas = [0.2, 0.5, 0.8, 0.9];
const budgets: readonly Budget[] = [
  { people: 30, model: 200 },
  { people: 30, model: 300 },
  { people: 100, model: 1000 },
  { people: 300, model: 5000 },
];

export function measureJudging(quick: boolean, scale: number, say: (line: string) => void): JudgingResult {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  const [draws, sessions] = quick ? [4, 4000] : [DRAWS * scale, SESSIONS];
  const sizes = quick ? budgets.slice(1, 2) : budgets;
  const cells = biases.flatMap((bias) =>
    kappas.flatMap((kappa) => {
      const world = createWorld({ bias, noise: noiseFor({ bias, kappa }, random) }, sessions, random);
      return sizes.flatMap((budget) => {
        const found = cellsOf(world, { bias, kappa }, budget, draws, random);
        say(`${bias} ${kappa} ${budget.people}/${budget.model}: ${found.map(inWords).join(', ')}`);
        return found;
      });
    }),
  );
  const command = commandOf('judging-coverage', scale);
  return { provenance: provenance(command, SEED, startedAt), sessions, cells };
}

function inWords({ bound, coverage, width }: JudgedCell): string {
  return `${bound} ${(100 * coverage.share).toFixed(1)} %${width === null ? '' : ` at ${width.toFixed(2)}`}`;
}

interface Tally {
  draws: number;
  held: number;
  width: number;
  widthOfPeople: number;
  error: number;
}

function cellsOf(world: World, judge: Judge, budget: Budget, draws: number, random: RandomNumbers): JudgedCell[] {
  const bounds = [...scoredMeasures, 'agreement'] as const;
  const tallies = new Map(
    bounds.map((bound): [string, Tally] => [bound, { draws: 0, held: 0, width: 0, widthOfPeople: 0, error: 0 }]),
  );
  const count = (bound: string, truth: number, value: number, { low, high }: { low: number; high: number }): Tally => {
    const tally = tallies.get(bound) as Tally;
    tally.draws++;
    if (low <= truth + ROUNDING && truth <= high + ROUNDING) tally.held++;
    tally.width += high - low;
    tally.error += value - truth;
    return tally;
  };
  for (let i = 0; i < draws; i++) {
    const drawn = drawFrom(world, budget, random);
    for (const measure of scoredMeasures) {
      const queries = drawn.scores(measure);
      const found = judgedMean(queries);
      const alone = judgedMean(queries.flatMap(withoutModel));
      if (found === null || alone === null) continue;
      const tally = count(measure, world.truth[measure], found.value, scoreBounds(found));
      const { low, high } = scoreBounds(alone);
      tally.widthOfPeople += high - low;
    }
    const agreement = agreementOf(drawn.pairs());
    if (agreement !== null) count('agreement', world.kappa, agreement.kappa, agreement);
  }
  return bounds.map((bound) => {
    const tally = tallies.get(bound) as Tally;
    return {
      judge,
      budget,
      bound,
      draws: tally.draws,
      coverage: shareWithBounds(tally.held, Math.max(1, tally.draws)),
      width: bound === 'agreement' ? null : tally.width / tally.widthOfPeople,
      bias: tally.error / Math.max(1, tally.draws),
    };
  });
}

const withoutModel = (query: JudgedQuery): JudgedQuery[] => (query.people === null ? [] : [{ ...query, model: null }]);

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, out, scale } = readArguments(process.argv.slice(2), 'judging-coverage');
  const result = measureJudging(quick, scale, console.log);
  if (out !== null) writeResult(out, result);
}
