/** Compares the share of right rankings with the probabilities that the rankings state. */
import { type Cause, type Confidence, confidences } from '../../../src/incidents/diagnosis/rules/cause.ts';
import type { Estimates } from '../../../src/incidents/diagnosis/rules/estimates.ts';
import {
  besideOf,
  type CauseRanking,
  type RankedCause,
  rankCauses,
} from '../../../src/incidents/diagnosis/rules/rank-causes.ts';
import type { Sign } from '../../../src/incidents/diagnosis/rules/signs.ts';
import type { Evaluation } from './evaluation.ts';

/** The ranking of an evaluation, and the causes that are right. */
export interface Ranked {
  readonly evaluation: Evaluation;
  readonly right: readonly Cause[];
  readonly ranking: CauseRanking;
}

export function rankedBy(evaluation: Evaluation, by: Estimates): Ranked {
  return { evaluation, right: evaluation.causes, ranking: rank(evaluation, by) };
}

/** Ranks the causes in a world without its right causes, so that `unknown` is right. */
export function rankedWithout(evaluation: Evaluation, by: Estimates): Ranked {
  const struck = Object.fromEntries(evaluation.causes.map((cause) => [cause, Number.NEGATIVE_INFINITY]));
  const ranking = rank(evaluation, { ...by, priors: { ...by.priors, ...struck } });
  return { evaluation, right: ['unknown'], ranking };
}

function rank({ signs, effects, failedShare }: Evaluation, by: Estimates): CauseRanking {
  const read = signs.map((one) => ({ ...one, sentence: '', from: null }) as Sign);
  return rankCauses(read, effects, failedShare, by);
}

export interface Level {
  readonly confidence: Confidence;
  readonly named: number;
  readonly right: number;
  /** Mean probability that the diagnoses state. If a diagnosis names two causes, their probabilities are added. */
  readonly stated: number;
}

/** Results of the diagnoses that named a cause with a stated probability between `from` and `to`. */
export interface Stated extends Omit<Level, 'confidence'> {
  readonly from: number;
  readonly to: number;
}

export interface Reliability {
  readonly worlds: number;
  /** Mean of -ln P(right causes), at most 7 per world. */
  readonly logLoss: number;
  /** Number of worlds in which the ranking named the right cause, or correctly named no cause. */
  readonly right: number;
  readonly unknown: number;
  readonly wrong: number;
  readonly wrongWithHighConfidence: number;
  readonly levels: readonly Level[];
  readonly stated: readonly Stated[];
}

/**
 * Maximum loss of one world in nats, so that a world whose right cause has probability 0 does not dominate the mean.
 */
const MAX_LOSS = 7;

export function reliabilityOf(all: readonly Ranked[]): Reliability {
  const missed = all.filter((one) => !isRight(one));
  const wrong = missed.filter(({ ranking }) => ranking.cause !== 'unknown');
  return {
    worlds: all.length,
    logLoss: rounded(all.reduce((sum, one) => sum + logLossOf(one), 0) / Math.max(1, all.length)),
    right: all.length - missed.length,
    unknown: missed.length - wrong.length,
    wrong: wrong.length,
    wrongWithHighConfidence: wrong.filter(({ ranking }) => ranking.confidence === 'high').length,
    levels: levelsOf(all),
    stated: statedIn(all),
  };
}

export function logLossOf({ right, ranking }: Ranked): number {
  const likelihood = ranking.ranked.reduce(
    (sum, { cause, probability }) => sum + (right.includes(cause) ? probability : 0),
    0,
  );
  return Math.min(MAX_LOSS, -Math.log(likelihood));
}

export function levelsOf(all: readonly Ranked[]): Level[] {
  return confidences.map((confidence) => ({
    confidence,
    ...countsOf(all, ({ ranking }) => ranking.confidence === confidence),
  }));
}

const steps = [0.5, 0.6, 0.75, 0.9, 0.95, 1] as const;

export function statedIn(all: readonly Ranked[]): Stated[] {
  return steps.slice(1).map((to, place) => {
    const from = steps[place] ?? 0;
    return { from, to, ...countsOf(all, (one) => statedOf(one) > from && statedOf(one) <= to) };
  });
}

function countsOf(all: readonly Ranked[], isIn: (one: Ranked) => boolean): Omit<Level, 'confidence'> {
  const own = all.filter((one) => one.ranking.cause !== 'unknown' && isIn(one));
  const stated = own.reduce((sum, one) => sum + statedOf(one), 0) / Math.max(1, own.length);
  return { named: own.length, right: own.filter(isRight).length, stated: rounded(stated) };
}

function statedOf(one: Ranked): number {
  return one.ranking.probability + (besideIn(one)?.probability ?? 0);
}

/** Returns the cause that could not be distinguished from the named cause; null if there is none. */
export function besideIn({ evaluation, ranking }: Ranked): RankedCause | null {
  const { effects, failedShare } = evaluation;
  return besideOf({ ...ranking, effects, failedShare });
}

/** True if one of the named causes is right. */
export function isRight(one: Ranked): boolean {
  const { right, ranking } = one;
  const named = [ranking.cause, besideIn(one)?.cause];
  return named.some((cause) => cause !== undefined && right.includes(cause));
}

/** Rounds a value to as many digits as tables and files show. */
function rounded(value: number): number {
  return Number(value.toFixed(4));
}
