import { describe, expect, it } from 'vitest';
import { estimatesAt, fitEstimates } from '../../bench/diagnosis/fit/estimate.ts';
import type { Evaluation } from '../../bench/diagnosis/fit/evaluation.ts';
import { lossOf } from '../../bench/diagnosis/fit/loss.ts';
import {
  cells,
  estimatesFrom,
  FIRST_CELL,
  judgedVector,
  numbered,
  WEIGHTS,
} from '../../bench/diagnosis/fit/problem.ts';
import { rankedBy, rankedWithout } from '../../bench/diagnosis/fit/reliability.ts';
import { sourceOf } from '../../bench/diagnosis/fit/write-estimates.ts';
import { type RandomNumbers, randomNumbers } from '../../bench/random-numbers.ts';
import { causes } from '../../src/incidents/diagnosis/rules/cause.ts';
import { type Estimates, judgedEstimates } from '../../src/incidents/diagnosis/rules/estimates.ts';
import { type SignName, signNames, signStates } from '../../src/incidents/diagnosis/rules/signs.ts';

/** Draws random signs for a world: each sign has a random state or is absent. */
function drawEvidence(names: readonly SignName[], random: RandomNumbers): Pick<Evaluation, 'signs'> {
  const signs = names.flatMap((name) => {
    const states: readonly string[] = signStates[name];
    const state = states[random.below(states.length + 1)];
    return state === undefined ? [] : [{ name, state, n: null } as Evaluation['signs'][number]];
  });
  return { signs };
}

/** Draws worlds in which causes occur as often as the estimates state. */
function drawWorlds(by: Estimates, names: readonly SignName[], count: number, seed: number): Evaluation[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, (_, index): Evaluation => {
    const world: Evaluation = {
      world: `${seed} ${index}`,
      source: 'drawn',
      shape: 'one',
      fault: 'drawn',
      causes: ['unknown'],
      ...drawEvidence(names, random),
      effects: [],
      failedShare: null,
    };
    const { ranked } = rankedBy(world, by).ranking;
    let rest = random.uniform();
    const drawn = ranked.find(({ probability }) => (rest -= probability) < 0) ?? ranked[0];
    return { ...world, causes: [drawn?.cause ?? 'unknown'] };
  });
}

const counted = (worlds: readonly Evaluation[]) => numbered(worlds).map((one) => ({ ...one, weight: 1 }));

/** Returns estimates in which each weight of the named signs is 0.4 or 1.5 times its expert value. */
function otherEstimates(names: readonly SignName[], seed: number): { vector: Float64Array; estimates: Estimates } {
  const random = randomNumbers(seed);
  const vector = judgedVector();
  for (const [index, { name, judged }] of cells.entries())
    if (names.includes(name))
      vector[FIRST_CELL + index] = Math.max(-4.5, Math.min(4.5, judged * (random.uniform() < 0.5 ? 0.4 : 1.5)));
  return { vector, estimates: estimatesFrom(vector, 1) };
}

const few: readonly SignName[] = ['failures', 'latency', 'empty_answers', 'labels', 'deployment'];

describe('the fit of weights', () => {
  const truth = otherEstimates(few, 5);
  const worlds = drawWorlds(truth.estimates, few, 2000, 11);
  const fit = fitEstimates(counted(worlds), { spread: 2, spreadOfFactors: 0.3, open: 0 });

  it('approximates the weights from which the worlds were drawn', () => {
    const unseen = counted(drawWorlds(truth.estimates, few, 2000, 12));
    const [judged, fitted, best] = [judgedVector(), fit.vector, truth.vector].map(
      (vector) => lossOf(unseen, vector, 0).value,
    );
    expect((judged as number) - (best as number)).toBeGreaterThan(40);
    expect((fitted as number) - (best as number)).toBeLessThan(((judged as number) - (best as number)) / 3);
  });

  it('keeps the sign of every weight, and keeps weights without data at their expert values', () => {
    for (const [index, { name, judged }] of cells.entries()) {
      const fitted = fit.vector[FIRST_CELL + index] as number;
      expect(Math.sign(fitted)).toBe(Math.sign(judged));
      if (!few.includes(name)) expect(fitted).toBe(judged);
    }
  });

  it('returns the same bytes for the same worlds', () => {
    const provenance = { sha256: '0', worlds: { drawn: 4000 }, kinds: 1, day: '2026-01-01', version: '0.1.0' };
    const again = fitEstimates(counted(worlds), { spread: 2, spreadOfFactors: 0.3, open: 0 });
    expect(sourceOf(estimatesAt(again, 1.2), provenance)).toBe(sourceOf(estimatesAt(fit, 1.2), provenance));
  });

  it('computes the true gradient of its loss', () => {
    const random = randomNumbers(3);
    const some = numbered(drawWorlds(judgedEstimates, signNames, 40, 4));
    const vector = judgedVector().map((value) => value + 0.3 * random.normal());
    const { gradient } = lossOf(some, vector, 0.3);
    for (let checked = 0; checked < 60; checked++) {
      const place = random.below(WEIGHTS);
      const at = (step: number): number =>
        lossOf(
          some,
          vector.map((value, i) => value + (i === place ? step : 0)),
          0.3,
        ).value;
      expect(gradient[place]).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 3);
    }
  });

  it('computes the same probabilities as the ranking of causes in recalld', () => {
    for (const world of drawWorlds(judgedEstimates, signNames, 30, 6)) {
      const one = counted([world]);
      const named = rankedBy(world, truth.estimates).ranking.ranked.find(({ cause }) => world.causes.includes(cause));
      const likelihood = Math.exp(-lossOf(one, truth.vector, 0).value);
      expect(likelihood).toBeCloseTo(0.995 * (named?.probability ?? 0) + 0.005 / causes.length, 3);
    }
  });
});

it('a cause that is excluded from the list gets the probability 0', () => {
  const [world] = drawWorlds(judgedEstimates, signNames, 1, 8);
  if (world === undefined) throw new Error('no world');
  const struck = rankedWithout({ ...world, causes: ['filter'] }, judgedEstimates);
  expect(struck.ranking.ranked.find(({ cause }) => cause === 'filter')?.probability).toBe(0);
  expect(struck.right).toEqual(['unknown']);
});
