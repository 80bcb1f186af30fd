/** Evaluations in numeric form: for each world and cause, the parameters whose sum is the score of the cause. */
import { type Cause, causes, type NamedCause, namedCauses } from '../../../src/incidents/diagnosis/rules/cause.ts';
import {
  type Estimates,
  judgedEstimates,
  judgedWeightOf,
  priorOf,
} from '../../../src/incidents/diagnosis/rules/estimates.ts';
import { termsOf } from '../../../src/incidents/diagnosis/rules/rank-causes.ts';
import { mostNats } from '../../../src/incidents/diagnosis/rules/samples.ts';
import { type Sign, signNames, signStates } from '../../../src/incidents/diagnosis/rules/signs.ts';
import type { Evaluation } from './evaluation.ts';
import { groupBy } from './group-by.ts';

/** An edge of the evidence graph. */
export interface Cell {
  readonly cause: NamedCause;
  readonly name: Sign['name'];
  readonly state: string;
  readonly judged: number;
}

export const cells: readonly Cell[] = namedCauses.flatMap((cause) =>
  signNames.flatMap((name) =>
    signStates[name].flatMap((state): Cell[] => {
      const judged = judgedWeightOf({ name, state }, cause);
      return judged === 0 ? [] : [{ cause, name, state, judged }];
    }),
  ),
);

const cellAt = new Map(cells.map((cell, index) => [keyOf(cell.cause, cell), index]));

function keyOf(cause: Cause, { name, state }: Pick<Cell, 'name' | 'state'>): string {
  return `${cause} ${name} ${state}`;
}

/** Positions in the fitted vector: the priors, then the weight of unexplained alerts, then the weights of cells. */
export const UNKNOWN = causes.indexOf('unknown');
export const UNEXPLAINED = causes.length;
export const FIRST_CELL = UNEXPLAINED + 1;
export const WEIGHTS = FIRST_CELL + cells.length;

/**
 * Groups edges by sign and by direction (for or against a cause), because the strength of a sign relative to other
 * signs is the same for all causes.
 */
const sideOf = ({ name, judged }: Cell): string => `${name} ${judged > 0 ? 'for' : 'against'}`;
const sides = [...new Set(cells.map(sideOf))];
/** Number of parameters: the weights, followed in the vector by one factor for each group. */
export const PARAMETERS = WEIGHTS + sides.length;
/** For each cell, the position of its factor in the vector. */
export const factorOf = Int32Array.from(cells, (cell) => WEIGHTS + sides.indexOf(sideOf(cell)));

/** Terms of the score of one cause. */
interface Candidate {
  /** Position of the cause among all causes, which is also the position of its prior in the vector. */
  readonly cause: number;
  /** Positions of the cause's cells in the vector. */
  readonly cells: Int32Array;
  /** Maximum absolute weight of each cell in this world. */
  readonly most: Float64Array;
  readonly unexplained: number;
  readonly hasOwnSign: boolean;
}

export interface NumberedWorld {
  readonly evaluation: Evaluation;
  readonly candidates: readonly Candidate[];
  /** Positions of the right causes among all causes. */
  readonly right: ReadonlySet<number>;
  readonly weight: number;
}

/** The worlds of one kind of fault are similar, so all of them together count as this many independent worlds. */
const WORLDS_OF_KIND = 10;
/** Prior probability of `unknown`. */
const SHARE_OF_UNKNOWN = 0.2;

const kindOf = ({ causes: [best], source, fault }: Evaluation): string => `${best} ${source} ${fault}`;

/** Weight of a kind of fault by its source: evaluations that come from a daemon with real texts count more. */
const weightOfSource = (source: string): number => (source === 'daemon' ? 2 : 1);

/**
 * Weights worlds so that all causes count equally, and `unknown` in proportion to its prior. Among the kinds of faults
 * with the same cause, the weight of a kind depends on its source, but not on how many worlds are of this kind. A world
 * with several right causes counts toward the best of these causes.
 */
export function numbered(evaluations: readonly Evaluation[]): NumberedWorld[] {
  const worldsOf = groupBy(evaluations, kindOf);
  const kindsOf = groupBy(
    [...worldsOf.values()].flatMap(([first]) => first ?? []),
    ({ causes: [best] }) => best ?? '',
  );
  const named = [...kindsOf.keys()].filter((best) => best !== 'unknown').length;
  const total = WORLDS_OF_KIND * worldsOf.size;
  const weightOf = (one: Evaluation): number => {
    const [best = 'unknown'] = one.causes;
    const share = best === 'unknown' ? SHARE_OF_UNKNOWN : (1 - SHARE_OF_UNKNOWN) / named;
    const ofCause = (kindsOf.get(best) ?? []).reduce((sum, { source }) => sum + weightOfSource(source), 0);
    return (total * share * weightOfSource(one.source)) / ofCause / (worldsOf.get(kindOf(one))?.length ?? 1);
  };
  return evaluations.map((evaluation) => ({
    evaluation,
    candidates: candidatesOf(evaluation),
    right: new Set(evaluation.causes.map((cause) => causes.indexOf(cause))),
    weight: weightOf(evaluation),
  }));
}

const known = new WeakMap<Evaluation, readonly Candidate[]>();

function candidatesOf(evaluation: Evaluation): readonly Candidate[] {
  const candidates = known.get(evaluation) ?? namedCauses.flatMap((cause) => candidateOf(cause, evaluation));
  known.set(evaluation, candidates);
  return candidates;
}

function candidateOf(cause: NamedCause, evaluation: Evaluation): Candidate[] {
  const signs = evaluation.signs.map((one) => ({ ...one, sentence: '', from: null }) as Sign);
  const terms = termsOf(cause, signs, evaluation.effects, evaluation.failedShare);
  if (terms === null) return [];
  const own = terms.signs.flatMap((sign) => {
    const index = cellAt.get(keyOf(cause, sign));
    return index === undefined ? [] : [{ index: FIRST_CELL + index, most: mostNats(sign) }];
  });
  const { unexplained, hasOwnSign } = terms;
  return [
    {
      cause: causes.indexOf(cause),
      cells: Int32Array.from(own, ({ index }) => index),
      most: Float64Array.from(own, ({ most }) => most),
      unexplained,
      hasOwnSign,
    },
  ];
}

export function judgedVector(): Float64Array {
  const vector = new Float64Array(PARAMETERS).fill(1, WEIGHTS);
  vector[UNKNOWN] = 0;
  for (const cause of namedCauses) vector[causes.indexOf(cause)] = priorOf(cause, judgedEstimates);
  vector[UNEXPLAINED] = judgedEstimates.unexplained;
  for (const [index, { judged }] of cells.entries()) vector[FIRST_CELL + index] = judged;
  return vector;
}

/** Returns the estimates in a fitted vector, except the weights and priors that equal the expert values. */
export function estimatesFrom(vector: Float64Array, temperature: number): Estimates {
  const weights: Record<string, Record<string, Record<string, number>>> = {};
  for (const [index, { cause, name, state, judged }] of cells.entries()) {
    const weight = rounded(vector[FIRST_CELL + index] ?? 0);
    if (weight === judged) continue;
    const signs = (weights[cause] ??= {});
    const states = (signs[name] ??= {});
    states[state] = weight;
  }
  return {
    priors: Object.fromEntries(
      namedCauses.flatMap((cause) => {
        const prior = rounded(vector[causes.indexOf(cause)] ?? 0);
        return prior === rounded(priorOf(cause, judgedEstimates)) ? [] : [[cause, prior]];
      }),
    ),
    weights,
    unexplained: rounded(vector[UNEXPLAINED] ?? 0),
    temperature: rounded(temperature),
  };
}

/** Rounds to two decimals; further digits are noise. */
function rounded(value: number): number {
  return Math.round(100 * value) / 100;
}
