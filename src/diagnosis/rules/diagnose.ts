/** From what is known around an alarm to a diagnosis: a cause or `unknown`, how far to trust it, and why. */
import { logAdd } from '../../stats/numerics.ts';
import {
  type Cause,
  type CauseText,
  type Confidence,
  causes,
  causeTexts,
  type NamedCause,
  probabilityText,
} from './cause.ts';
import type { Observations } from './observations.ts';
import { readPartSigns, readRunSigns } from './read-signs.ts';
import { type Sign, type SignName, weightOf } from './weights.ts';

/** Prior of `unknown`, as much as that of two and a half named causes; the named ones share the rest equally. */
const PRIOR_OF_UNKNOWN = 0.2;

/** A sign of at least so many nats points to a cause by itself; a weaker one only fits it. */
const OWN_SIGN = 2;

/** A cause is named only when it is likelier than all others together. */
const MIN_TO_NAME = 0.5;

/** What each level of confidence takes: a posterior, and one sign of at least this weight in nats. */
const needs = {
  high: { probability: 0.9, sign: 3 },
  medium: { probability: 0.6, sign: 2.5 },
} as const;

/** A sign of this weight or less, in nats, is shown as evidence against a cause. */
const AGAINST = -1;

interface RankedCause {
  readonly cause: Cause;
  /** Posterior, 0..1; all of them sum to 1. */
  readonly probability: number;
  /** The signs that speak for it, the weightiest first. */
  readonly supporting: readonly Sign[];
  /** The signs that speak against it, the weightiest first. */
  readonly opposing: readonly Sign[];
}

interface CauseRanking {
  /** `unknown` unless one cause is likelier than all others together and a sign of its own speaks for it. */
  readonly cause: Cause;
  readonly confidence: Confidence;
  readonly probability: number;
  /** Every cause, the likeliest first; of equal ones in the order of `causes`. */
  readonly ranked: readonly RankedCause[];
}

/**
 * Naive Bayes with stated weights: the log posterior of a cause is its log prior plus the weights of the signs. Weights
 * are relative to `unknown`, whose score is therefore its prior. A cause without a sign of 2 nats or more is never
 * raised above its prior, however well the weaker signs fit it. Signs that depend on each other count in full; that is
 * why a level of confidence takes a strong sign beside a high posterior.
 *
 * @param signs of each name at most one
 * @throws RangeError for a name that comes twice
 */
export function rankCauses(signs: readonly Sign[]): CauseRanking {
  assertOneOfEach(signs);
  const scores = causes.map((cause) => {
    if (cause === 'unknown') return Math.log(PRIOR_OF_UNKNOWN);
    const prior = Math.log((1 - PRIOR_OF_UNKNOWN) / (causes.length - 1));
    const evidence = signs.map((sign) => weightOf(sign, cause));
    const sum = evidence.reduce((total, weight) => total + weight, 0);
    return prior + (evidence.some((weight) => weight >= OWN_SIGN) ? sum : Math.min(0, sum));
  });
  const total = scores.reduce(logAdd, Number.NEGATIVE_INFINITY);
  const ranked = causes
    .map((cause, index): RankedCause => {
      const probability = Math.exp((scores[index] ?? 0) - total);
      return { cause, probability, ...(cause === 'unknown' ? nothing : sidesOf(signs, cause)) };
    })
    .toSorted((a, b) => b.probability - a.probability);
  return { ...named(ranked), ranked };
}

const nothing = { supporting: [], opposing: [] } as const;

function sidesOf(signs: readonly Sign[], cause: NamedCause): Pick<RankedCause, 'supporting' | 'opposing'> {
  const weighed = signs.map((sign) => ({ sign, weight: weightOf(sign, cause) }));
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
  const [first] = ranked;
  const unknown = ranked.find(({ cause }) => cause === 'unknown')?.probability ?? 0;
  if (first === undefined || first.cause === 'unknown' || first.probability <= MIN_TO_NAME)
    return { cause: 'unknown', confidence: 'low', probability: unknown };
  const { cause, probability, supporting } = first;
  const strongest = supporting[0] === undefined ? 0 : weightOf(supporting[0], cause);
  if (strongest < OWN_SIGN) return { cause: 'unknown', confidence: 'low', probability: unknown };
  const reached = (level: keyof typeof needs): boolean =>
    probability >= needs[level].probability && strongest >= needs[level].sign;
  const confidence = reached('high') ? 'high' : reached('medium') ? 'medium' : 'low';
  return { cause, confidence, probability };
}

function assertOneOfEach(signs: readonly Sign[]): void {
  const seen = new Set<SignName>();
  for (const { name } of signs) {
    if (seen.has(name)) throw new RangeError(`The sign ${name} was read twice.`);
    seen.add(name);
  }
}

/** Longest summary, in characters: what an annotation of an alert or a line of a chat takes. */
export const MAX_SUMMARY_LENGTH = 300;

export interface Findings extends CauseRanking, CauseText {
  /** At most 300 characters. */
  readonly summary: string;
  /** Everything that was read. */
  readonly signs: readonly Sign[];
}

export function diagnose(observed: Observations): Findings {
  const signs = [...readRunSigns(observed.run, observed.live), ...readPartSigns(observed)];
  const ranking = rankCauses(signs);
  const text = causeTexts[ranking.cause];
  return { ...ranking, ...text, summary: summarise(ranking, text), signs };
}

function summarise(ranking: CauseRanking, { title, action }: CauseText): string {
  const [first, second] = ranking.ranked.filter(({ cause }) => cause !== 'unknown');
  const guesses = [first, second].flatMap((one) =>
    one === undefined ? [] : [`${causeTexts[one.cause].title} (${probabilityText(one.probability)})`],
  );
  const sentences =
    ranking.cause === 'unknown'
      ? [`Cause unknown: what was measured does not tell.`, `Likeliest: ${guesses.join(', ')}.`, action]
      : [
          `Likely cause: ${title} (${ranking.confidence} confidence, ${probabilityText(ranking.probability)}).`,
          ...(ranking.ranked[0]?.supporting.slice(0, 2).map(({ sentence }) => sentence) ?? []),
          action,
        ];
  return sentences.reduce(
    (summary, sentence) =>
      summary.length + 1 + sentence.length > MAX_SUMMARY_LENGTH
        ? summary
        : `${summary}${summary === '' ? '' : ' '}${sentence}`,
    '',
  );
}
