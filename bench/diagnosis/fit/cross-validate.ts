/**
 * Tests estimates on worlds to which they were not fitted: other shapes, other kinds of faults, and faults whose cause
 * is not in the list.
 */
import { type Cause, namedCauses } from '../../../src/incidents/diagnosis/rules/cause.ts';
import { judgedEstimates } from '../../../src/incidents/diagnosis/rules/estimates.ts';
import { estimatesAt, type Fit, type FitSettings, fitEstimates } from './estimate.ts';
import type { Evaluation } from './evaluation.ts';
import { groupBy } from './group-by.ts';
import { lossOf } from './loss.ts';
import { numbered } from './problem.ts';
import { type Ranked, rankedBy, rankedWithout } from './reliability.ts';

/** A fit, and the evaluations that it did not use. */
export interface Fold {
  readonly left: readonly Evaluation[];
  readonly fit: Fit;
}

/** Number of folds. Worlds that agree in the property that `LeftOut` names are always in the same fold. */
const PARTS = 5;

export type LeftOut = 'shape' | 'fault' | 'cause';

const kindOf = ({ causes, fault }: Evaluation): string => `${causes.join(' ')}: ${fault}`;

const wholeOf: Readonly<Record<LeftOut, (one: Evaluation) => string>> = {
  shape: ({ shape }) => shape,
  // Names that are adjacent in alphabetical order often share a cause, so they go to different folds.
  fault: kindOf,
  cause: ({ causes }) => causes.join(' '),
};

export function countKinds(evaluations: readonly Evaluation[]): number {
  return groupBy(evaluations, kindOf).size;
}

export function foldsBy(leftOut: LeftOut, evaluations: readonly Evaluation[], settings: FitSettings): Fold[] {
  const wholes = [...groupBy(evaluations, wholeOf[leftOut]).keys()].toSorted();
  const partOf = new Map(wholes.map((whole, place) => [whole, `${place % PARTS}`]));
  const groupOf = (one: Evaluation): string => partOf.get(wholeOf[leftOut](one)) ?? '';
  return [...groupBy(evaluations, groupOf)].map(([group, left]) => ({
    left,
    fit: fitEstimates(numbered(evaluations.filter((one) => groupOf(one) !== group)), settings),
  }));
}

export function rankedIn(folds: readonly Fold[], temperature: number): Ranked[] {
  return folds.flatMap(({ left, fit }) => {
    const by = estimatesAt(fit, temperature);
    return left.map((one) => rankedBy(one, by));
  });
}

/**
 * For each world whose causes are all in the list, removes these causes and ranks the others by the fit that did not
 * use the world.
 */
export function struckIn(folds: readonly Fold[], temperature: number): Ranked[] {
  return folds.flatMap(({ left, fit }) => {
    const by = estimatesAt(fit, temperature);
    return left.flatMap((one) => (isNamed(one) ? [rankedWithout(one, by)] : []));
  });
}

/** Like `struckIn`, but ranks the causes by expert weights instead of fitted weights. */
export function struckByJudgement(evaluations: readonly Evaluation[]): Ranked[] {
  return evaluations.flatMap((one) => (isNamed(one) ? [rankedWithout(one, judgedEstimates)] : []));
}

function isNamed({ causes }: Evaluation): boolean {
  const named: readonly Cause[] = namedCauses;
  return causes.every((cause) => named.includes(cause));
}

const [COLDEST, HOTTEST] = [0.5, 4] as const;
const STEP = 0.05;

/**
 * Returns the temperature with the lowest loss over kinds of faults that the fit did not use. The loss includes a
 * penalty if `unknown` is unlikely after the true causes are removed from the list.
 */
export function fittingTemperature(folds: readonly Fold[], { open }: FitSettings): number {
  const left = folds.map(({ left: worlds, fit }) => ({ worlds: numbered(worlds), fit }));
  const lossAt = (temperature: number): number =>
    left.reduce((sum, { worlds, fit }) => sum + lossOf(worlds, fit.vector, open, temperature).value, 0);
  const steps = Array.from({ length: Math.round((HOTTEST - COLDEST) / STEP) + 1 }, (_, step) => COLDEST + step * STEP);
  const losses = steps.map((temperature) => ({ temperature, loss: lossAt(temperature) }));
  return losses.toSorted((a, b) => a.loss - b.loss)[0]?.temperature ?? 1;
}
