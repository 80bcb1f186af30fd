/** Signs -> causes with their probabilities, and which of them to name. */
import { logAdd } from '../../../math/stats/distributions.ts';
import { type Cause, type Confidence, causes, type NamedCause, namedCauses } from './cause.ts';
import { type Effect, isPossible, leftBy, unexplainedBy } from './effects.ts';
import { type Estimates, isOwnSign, judgedWeightOf, priorOf, weightOf } from './estimates.ts';
import { fittedEstimates } from './fitted-weights.ts';
import { isHealthy, mostNats } from './samples.ts';
import type { Sign, SignName } from './signs.ts';

/** Minimum probability of the named cause, or of two that the signs do not distinguish. */
const MIN_TO_NAME = 0.5;

/** A second cause that is at least so likely is named beside the first. */
const MIN_BESIDE = 0.2;

/** Minimum probability of each confidence level. For two named causes it is their sum, and the level is never `high`. */
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
 * Log-linear: the score of a cause is its prior plus the weights of the signs, relative to `unknown`, whose score is 0,
 * divided by the temperature. A cause that cannot bring about anything that fires is out; one that leaves a part of it
 * unexplained has that against it. A cause without a sign of its own is never raised above its prior, however well the
 * weaker signs fit it. How weights, priors and temperature were estimated: docs/explanation/diagnosis.md.
 *
 * @param signs of each name at most one
 * @param effects of the firing alerts; empty if unknown
 * @param failedShare of the golden queries; null without a run
 * @param by other estimates than the fitted ones
 * @throws RangeError for a name that comes twice
 */
export function rankCauses(
  signs: readonly Sign[],
  effects: readonly Effect[] = [],
  failedShare: number | null = null,
  by: Estimates = fittedEstimates,
): CauseRanking {
  assertOneOfEach(signs);
  const scores = causes.map((cause) =>
    cause === 'unknown' ? 0 : scoreOf(termsOf(cause, signs, effects, failedShare), cause, by),
  );
  const total = scores.reduce(logAdd, Number.NEGATIVE_INFINITY);
  const ranked = causes
    .map((cause, index): RankedCause => {
      const probability = Math.exp((scores[index] ?? Number.NEGATIVE_INFINITY) - total);
      return { cause, probability, ...(cause === 'unknown' ? differencesOf(signs) : sidesOf(signs, cause, by)) };
    })
    .toSorted((a, b) => b.probability - a.probability);
  return { ...named(ranked, signs), ranked };
}

/**
 * Signs that tell a cause from those that look like it, with the states that do; without states, all. A cause is never
 * `high` unless one of its signs was measured since the onset.
 */
const toldApartBy: Readonly<Partial<Record<Cause, readonly (readonly [SignName, ...states: string[]])[]>>> = {
  // Users dislike what does not cover their query, too.
  generator: [['density']],
  // A part of the query that is lost, or a cache, scrambles answers as well, but alike each time.
  random_answers: [
    ['again', 'differs'],
    ['variety', 'collapsed'],
  ],
  // Answers that differ each time miss near neighbors, too.
  index_parameters: [['ann_recall', 'fell'], ['index_settings'], ['again', 'repeats']],
};

function isToldApart(cause: Cause, signs: readonly Sign[]): boolean {
  const telling = toldApartBy[cause];
  return (
    telling === undefined ||
    telling.some(([name, ...states]) =>
      signs.some((sign) => sign.name === name && (states.length === 0 || states.includes(sign.state))),
    )
  );
}

/** What the score of a cause is the sum of, whatever the weights are. */
export type Terms = NonNullable<ReturnType<typeof termsOf>>;

/** Null for a cause that cannot bring about anything that fires. */
export function termsOf(
  cause: NamedCause,
  signs: readonly Sign[],
  effects: readonly Effect[],
  failedShare: number | null,
) {
  if (!isPossible(cause, effects, failedShare)) return null;
  return {
    signs,
    hasOwnSign: signs.some((sign) => isOwnSign(sign, cause)),
    /** How many of the effects it cannot bring about. */
    unexplained: unexplainedBy(cause, effects, failedShare),
  };
}

function scoreOf(terms: Terms | null, cause: NamedCause, by: Estimates): number {
  if (terms === null) return Number.NEGATIVE_INFINITY;
  const sum = terms.signs.reduce((total, sign) => total + weigh(sign, cause, by), terms.unexplained * by.unexplained);
  return (priorOf(cause, by) + (terms.hasOwnSign ? sum : Math.min(0, sum))) / by.temperature;
}

/** More differences are not worth a person's time. */
const MAX_DIFFERENCES = 4;

/** The most that a sign says for any cause, in nats. */
function strengthOf(sign: Sign): number {
  return sign.name === 'stage'
    ? Number.POSITIVE_INFINITY
    : Math.max(...namedCauses.map((cause) => judgedWeightOf(sign, cause)));
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

function sidesOf(
  signs: readonly Sign[],
  cause: NamedCause,
  by: Estimates,
): Pick<RankedCause, 'supporting' | 'opposing'> {
  const weighed = signs.map((sign) => ({ sign, weight: weigh(sign, cause, by) }));
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

function named(
  ranked: readonly RankedCause[],
  signs: readonly Sign[],
): Pick<CauseRanking, 'cause' | 'confidence' | 'probability'> {
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
  const confidence =
    probability >= needs.high && isToldApart(cause, signs) ? 'high' : probability >= needs.medium ? 'medium' : 'low';
  return { cause, confidence, probability };
}

/** A ranking, and what fired. */
export interface RankedEffects extends Pick<CauseRanking, 'cause' | 'ranked'> {
  readonly effects: readonly Effect[];
  readonly failedShare: number | null;
}

/**
 * The cause that what was measured does not tell from the one that is named; null when it does, or names none. Two causes
 * of which each explains what the other cannot are no alternatives: both are at work.
 */
export function besideOf({ cause, ranked, effects, failedShare }: RankedEffects): RankedCause | null {
  // Whatever a deployment changed, to roll it back is what to do.
  if (cause === 'unknown' || cause === 'deployment') return null;
  const beside = plausible(ranked).find((one) => one.cause !== cause) ?? null;
  if (beside === null || beside.cause === 'unknown') return null;
  const leaves = (one: NamedCause): readonly Effect[] =>
    effects.flatMap((effect) => leftBy([one], effect, failedShare) ?? []);
  const together = effects.flatMap((effect) => leftBy([cause, beside.cause as NamedCause], effect, failedShare) ?? []);
  return leaves(cause).length > together.length && leaves(beside.cause).length > together.length ? null : beside;
}

/** The first, and whatever is likely beside it. Three are too many to name. */
function plausible([first, ...others]: readonly RankedCause[]): RankedCause[] {
  const beside = others.filter((one) => one.probability >= MIN_BESIDE && hasOwnSign(one));
  return first === undefined ? [] : [first, ...beside];
}

function hasOwnSign({ cause, supporting }: RankedCause): boolean {
  return cause !== 'unknown' && supporting.some((sign) => isOwnSign(sign, cause));
}

/** What one sign says of a cause, in nats, as far as its sample carries it. */
export function weigh(sign: Sign, cause: NamedCause, by: Estimates = fittedEstimates): number {
  const most = mostNats(sign);
  return Math.max(-most, Math.min(most, weightOf(sign, cause, by)));
}

function assertOneOfEach(signs: readonly Sign[]): void {
  const seen = new Set<SignName>();
  for (const { name } of signs) {
    if (seen.has(name)) throw new RangeError(`The sign ${name} was read twice.`);
    seen.add(name);
  }
}
