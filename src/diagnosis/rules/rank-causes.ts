/** Signs -> causes with their probabilities, and which of them to name. */
import { logAdd } from '../../math/stats/distributions.ts';
import {
  type Cause,
  type Confidence,
  causes,
  type Effect,
  isPossible,
  type NamedCause,
  namedCauses,
  weightOfUnexplained,
} from './cause.ts';
import { isHealthy, mostNats } from './samples.ts';
import type { Sign, SignName } from './signs.ts';
import { weightOf } from './weights.ts';

/** Prior of `unknown`; the named causes share the rest equally. */
const PRIOR_OF_UNKNOWN = 0.2;

/** A sign of at least so many nats points to a cause by itself; a weaker one only fits it. */
const OWN_SIGN = 2;

/** A cause, or two that are not told apart, must be likelier than everything else together. */
const MIN_TO_NAME = 0.5;

/** A second cause that is at least so likely is named beside the first. */
const MIN_BESIDE = 0.2;

/** The probability that each level of confidence takes; of two causes, which are never `high`, what both have together. */
const needs = { high: 0.9, medium: 0.6 } as const;

/** A sign of this weight or less, in nats, is shown as evidence against a cause. */
const AGAINST = -1;

export interface RankedCause {
  readonly cause: Cause;
  /** 0..1; all of them sum to 1. */
  readonly probability: number;
  /** The signs that speak for it, the weightiest first; of `unknown` what differs most from before. */
  readonly supporting: readonly Sign[];
  /** The signs that speak against it, the weightiest first. */
  readonly opposing: readonly Sign[];
}

export interface CauseRanking {
  /** `unknown` unless one cause, or two together, are likelier than all others and a sign of its own speaks for it. */
  readonly cause: Cause;
  readonly confidence: Confidence;
  /** Of the cause alone. */
  readonly probability: number;
  /** Every cause, the likeliest first; of equal ones in the order of `causes`. */
  readonly ranked: readonly RankedCause[];
}

/**
 * Naive Bayes with stated weights: the log posterior of a cause is its log prior plus the weights of the signs. Weights
 * are relative to `unknown`, whose score is therefore its prior. A cause that cannot bring about anything that is in alarm
 * is out; one that leaves a part of it unexplained has that against it. A cause without a sign of 2 nats or more is never
 * raised above its prior, however well the weaker signs fit it. Signs that depend on each other count in full; how
 * often what comes of that is right is measured (docs/diagnosis.md).
 *
 * @param signs of each name at most one
 * @param effects what is in alarm; none when that is not known
 * @param failedShare of the golden queries; null without a run
 * @throws RangeError for a name that comes twice
 */
export function rankCauses(
  signs: readonly Sign[],
  effects: readonly Effect[] = [],
  failedShare: number | null = null,
): CauseRanking {
  assertOneOfEach(signs);
  const scores = causes.map((cause) => {
    if (cause === 'unknown') return Math.log(PRIOR_OF_UNKNOWN);
    if (!isPossible(cause, effects, failedShare)) return Number.NEGATIVE_INFINITY;
    const prior = Math.log((1 - PRIOR_OF_UNKNOWN) / (causes.length - 1));
    const evidence = signs.map((sign) => weigh(sign, cause));
    const sum =
      evidence.reduce((total, weight) => total + weight, 0) + weightOfUnexplained(cause, effects, failedShare);
    return prior + (evidence.some((weight) => weight >= OWN_SIGN) ? sum : Math.min(0, sum));
  });
  const total = scores.reduce(logAdd, Number.NEGATIVE_INFINITY);
  const ranked = causes
    .map((cause, index): RankedCause => {
      const probability = Math.exp((scores[index] ?? Number.NEGATIVE_INFINITY) - total);
      return { cause, probability, ...(cause === 'unknown' ? differencesOf(signs) : sidesOf(signs, cause)) };
    })
    .toSorted((a, b) => b.probability - a.probability);
  return { ...named(ranked), ranked };
}

/** More differences are not worth a person's time. */
const MAX_DIFFERENCES = 4;

/** The most that a sign says for any cause, in nats. */
function strengthOf(sign: Sign): number {
  return sign.name === 'stage' ? Number.POSITIVE_INFINITY : Math.max(...namedCauses.map((cause) => weigh(sign, cause)));
}

/** What differs most from before, where nothing on the list explains it; the stage at fault first, which narrows it down. */
function differencesOf(signs: readonly Sign[]): Pick<RankedCause, 'supporting' | 'opposing'> {
  const differences = signs
    .filter((sign) => !isHealthy(sign))
    .map((sign) => ({ sign, strength: strengthOf(sign) }))
    .filter(({ strength }) => strength > 0)
    .toSorted((a, b) => b.strength - a.strength);
  return { supporting: differences.slice(0, MAX_DIFFERENCES).map(({ sign }) => sign), opposing: [] };
}

function sidesOf(signs: readonly Sign[], cause: NamedCause): Pick<RankedCause, 'supporting' | 'opposing'> {
  const weighed = signs.map((sign) => ({ sign, weight: weigh(sign, cause) }));
  return {
    supporting: weighed
      .filter(({ weight }) => weight > 0)
      .toSorted((a, b) => b.weight - a.weight)
      .map(({ sign }) => sign),
    opposing: weighed
      .filter(({ weight }) => weight <= AGAINST)
      .toSorted((a, b) => a.weight - b.weight)
      .map(({ sign }) => sign),
  };
}

function named(ranked: readonly RankedCause[]): Pick<CauseRanking, 'cause' | 'confidence' | 'probability'> {
  const unknown = ranked.find(({ cause }) => cause === 'unknown')?.probability ?? 0;
  const [first] = ranked;
  if (first === undefined || first.cause === 'unknown' || !hasOwnSign(first))
    return { cause: 'unknown', confidence: 'low', probability: unknown };
  const [, beside = null, third] = plausible(ranked);
  const together = first.probability + (beside?.probability ?? 0);
  if (together <= MIN_TO_NAME || third !== undefined)
    return { cause: 'unknown', confidence: 'low', probability: unknown };
  const { cause, probability } = first;
  if (beside !== null) return { cause, probability, confidence: together >= needs.medium ? 'medium' : 'low' };
  const confidence = probability >= needs.high ? 'high' : probability >= needs.medium ? 'medium' : 'low';
  return { cause, confidence, probability };
}

/** The cause that what was measured does not tell from the one that is named; null when it does, or names none. */
export function besideOf(ranked: readonly RankedCause[], cause: Cause): RankedCause | null {
  return cause === 'unknown' ? null : (plausible(ranked).find((one) => one.cause !== cause) ?? null);
}

/** The first, and whatever is likely beside it. Three are too many to name. */
function plausible([first, ...others]: readonly RankedCause[]): RankedCause[] {
  const beside = others.filter((one) => one.probability >= MIN_BESIDE && hasOwnSign(one));
  return first === undefined ? [] : [first, ...beside];
}

function hasOwnSign({ cause, supporting: [strongest] }: RankedCause): boolean {
  return cause !== 'unknown' && strongest !== undefined && weigh(strongest, cause) >= OWN_SIGN;
}

/** What one sign says of a cause, in nats, as far as its sample carries it. */
export function weigh(sign: Sign, cause: NamedCause): number {
  const most = mostNats(sign);
  return Math.max(-most, Math.min(most, weightOf(sign, cause)));
}

function assertOneOfEach(signs: readonly Sign[]): void {
  const seen = new Set<SignName>();
  for (const { name } of signs) {
    if (seen.has(name)) throw new RangeError(`The sign ${name} was read twice.`);
    seen.add(name);
  }
}
