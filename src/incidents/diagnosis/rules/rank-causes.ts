/** Ranks causes by probability from the signs, and selects which causes to name. */
import { logAdd } from '../../../math/stats/distributions.ts';
import { type Cause, type Confidence, causes, type NamedCause, namedCauses } from './cause.ts';
import { type Effect, isPossible, leftBy, unexplainedBy } from './effects.ts';
import { type Estimates, isOwnSign, judgedWeightOf, priorOf, weightOf } from './estimates.ts';
import { fittedEstimates } from './fitted-weights.ts';
import { mostNats } from './samples.ts';
import { isHealthy, type Sign, type SignName } from './signs.ts';

/** Minimum probability of the named cause, or combined probability of two causes that the signs do not distinguish. */
const MIN_TO_NAME = 0.5;

/** Minimum probability at which a second cause is also named. */
const MIN_BESIDE = 0.2;

/**
 * Minimum probability of the named cause for each confidence level. If a second cause is named, the confidence is never
 * `high`.
 */
const needs = { high: 0.95, medium: 0.7 } as const;
/**
 * For each confidence level, the maximum probability of a cause for which the signs that this level requires are
 * missing.
 */
const below = { high: 0.94, medium: 0.69 } as const;

/** Maximum weight, in nats, at which a sign is shown as evidence against a cause. */
const AGAINST = -1;

export interface RankedCause {
  readonly cause: Cause;
  /** 0 to 1; the probabilities of all causes sum to 1. */
  readonly probability: number;
  /** Signs for this cause, strongest first. For `unknown`, the signs that differ most from their earlier state. */
  readonly supporting: readonly Sign[];
  /** Signs against this cause, strongest first. */
  readonly opposing: readonly Sign[];
}

export interface CauseRanking {
  /**
   * `unknown`, unless one cause (or a pair of causes) is likelier than all other causes together and is supported by a
   * sign.
   */
  readonly cause: Cause;
  readonly confidence: Confidence;
  /** Probability of this cause alone. */
  readonly probability: number;
  /** All causes, likeliest first; equally likely causes are in the order of `causes`. */
  readonly ranked: readonly RankedCause[];
}

/**
 * Log-linear model: the score of a cause is its prior plus the weights of the signs, divided by the temperature. Scores
 * are relative to `unknown`, whose score is 0. A cause that explains no firing effect is excluded; a cause is penalized
 * for each effect that it does not explain. The score of a cause without a sign that points to it never exceeds its
 * prior, even if all weaker signs fit the cause. docs/explanation/diagnosis.md describes how weights, priors and
 * temperature were estimated.
 *
 * @param signs measured signs, at most one per name
 * @param effects effects of the firing alerts; empty if unknown
 * @param failedShare share of failed golden queries; null if no golden run was examined
 * @param by weights and priors; the fitted ones by default
 * @throws RangeError for a duplicate name
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
  return named(cappedBy(signs, ranked));
}

/**
 * Alternatives, each a sign with the states that count; without states, every state counts. Healthy measurements from
 * before the onset do not count (`sinceOnset`).
 */
type AnyOf = readonly (readonly [SignName, ...states: string[]])[];

interface Requirement {
  readonly cause: NamedCause;
  readonly level: 'high' | 'medium';
  readonly anyOf: AnyOf;
}

/**
 * Signs that distinguish a cause from similar causes. The confidence in such a cause reaches a level only if each
 * requirement for this level, and for lower levels, is met.
 */
const requirements: readonly Requirement[] = [
  // Users also dislike answers to queries that no document covers.
  { cause: 'generator', level: 'medium', anyOf: [['density'], ['live_relevance', 'as_before']] },
  // No sign distinguishes worse answers from ratings that are collected in another way.
  { cause: 'generator', level: 'high', anyOf: [] },
  // Users also dislike answers from poor results that only live queries get.
  {
    cause: 'generator',
    level: 'medium',
    anyOf: [
      ['live_replay', 'as_before'],
      ['live_relevance', 'as_before'],
    ],
  },
  // A rewriter or a client that changes the queries also lowers the density. Only the density alert shows whether the
  // queries are about new subjects.
  {
    cause: 'uncovered_topic',
    level: 'high',
    anyOf: [
      ['density', 'fell_new_questions'],
      ['topics', 'new_demand'],
    ],
  },
  // Documents also vanish from the results of a golden set if their ranks drop. A filter, in contrast, removes them
  // from the results of all queries.
  {
    cause: 'filter',
    level: 'medium',
    anyOf: [
      ['rarer_documents', 'gone'],
      ['answer_length', 'thinned'],
      ['stage', 'filter'],
      ['segment', 'several'],
      ['empty_answers', 'some', 'most'],
    ],
  },
  // The scores of documents also change if hits are resolved to the wrong documents, but the others keep their order.
  {
    cause: 'ranking',
    level: 'high',
    anyOf: [
      ['order', 'changed'],
      ['changed_lists', 'pushed_down'],
      ['store_agreement', 'rose'],
      ['stage', 'later'],
    ],
  },
  // If only some queries get empty lists, what these queries have in common may be the cause.
  { cause: 'empty_lists', level: 'high', anyOf: [['empty_answers', 'most']] },
  // A search that skips some stored documents, for example because its index no longer links to them, also drops them
  // from all results. A filter shows itself if it also shortens lists or affects segments differently.
  {
    cause: 'filter',
    level: 'high',
    anyOf: [
      ['answer_length', 'thinned'],
      ['stage', 'filter'],
      ['segment', 'one', 'several'],
      ['empty_answers', 'some', 'most'],
    ],
  },
  // A truncated query, a faulty cache or a strict limit also scrambles results, but returns the same scrambled results
  // each time.
  {
    cause: 'random_answers',
    level: 'medium',
    anyOf: [
      ['again', 'differs'],
      ['removed_words', 'all_ignored'],
      ['variety', 'collapsed'],
    ],
  },
  // Other changes to the query, such as truncation, also scramble the results, but leave recalld's own vectors
  // unchanged.
  {
    cause: 'embedding_model',
    level: 'medium',
    anyOf: [
      ['canary', 'changed'],
      ['embedder'],
      ['index_models', 'mixed'],
      ['missed_vectors', 'foreign'],
      ['deployment', 'embedder'],
    ],
  },
  // Results also alternate if some calls have another filter, or if some shards time out. In these cases, each call
  // lacks different documents.
  {
    cause: 'split_index',
    level: 'medium',
    anyOf: [
      ['returned_documents', 'absent'],
      ['dropped_documents', 'from_all'],
    ],
  },
  { cause: 'split_index', level: 'high', anyOf: [['returned_documents', 'absent']] },
  // A retriever that picks results at random may also return another query's results, but different ones in each run.
  { cause: 'foreign_answers', level: 'high', anyOf: [['again', 'repeats']] },
  // Any fault that changes queries or ranks makes the retriever return documents other than the nearest. The cause
  // `index_parameters` therefore requires that recalld's own search of the index misses neighbors, or that the settings
  // of the index changed.
  { cause: 'index_parameters', level: 'medium', anyOf: [['ann_recall', 'fell'], ['index_settings']] },
];

/** Signs that contradict a cause even if all other signs fit it; the confidence in the cause is then low. */
const contradictedBy: Readonly<Partial<Record<Cause, AnyOf>>> = {
  // The documents that pass a filter keep their order.
  filter: [['order', 'changed']],
  // If truncated texts change the results, they also change the scores.
  // If unchanged results kept their text length, the mean length dropped because other documents are returned.
  damaged_texts: [
    ['retrieval_scores', 'as_before'],
    ['same_texts', 'as_before'],
  ],
  // Users also rate answers to other queries differently.
  generator: [
    ['query_length', 'fell', 'rose'],
    ['query_style', 'changed'],
    ['malformed_queries', 'rose'],
    ['language', 'changed'],
  ],
  // The documents were replaced, or deleted on purpose.
  index_lost_documents: [['gone_documents', 'superseded', 'deleted']],
};

function isDistinguished(cause: Cause, level: 'high' | 'medium', signs: readonly Sign[]): boolean {
  const isMet = (anyOf: AnyOf): boolean =>
    anyOf.some(([name, ...states]) =>
      signs.some((sign) => sign.name === name && (states.length === 0 || states.includes(sign.state))),
    );
  const required = requirements.filter((one) => one.cause === cause && one.level === level);
  return required.every(({ anyOf }) => isMet(anyOf)) && !isMet(contradictedBy[cause] ?? []);
}

/**
 * Limits the probability of the likeliest cause if the signs that distinguish it are missing. The excess is added to
 * the probability of `unknown`, because a cause outside the list may have the same signs.
 */
function cappedBy(signs: readonly Sign[], ranked: readonly RankedCause[]): readonly RankedCause[] {
  const [first] = ranked;
  if (first === undefined || first.cause === 'unknown') return ranked;
  const level = (['medium', 'high'] as const).find((one) => !isDistinguished(first.cause, one, signs));
  const excess = level === undefined ? 0 : first.probability - below[level];
  if (excess <= 0) return ranked;
  const added = (one: RankedCause): number => (one === first ? -excess : one.cause === 'unknown' ? excess : 0);
  return ranked
    .map((one) => ({ ...one, probability: one.probability + added(one) }))
    .toSorted((a, b) => b.probability - a.probability);
}

/** Terms of the score of a cause: signs and unexplained effects, before weights are applied to them. */
export type Terms = NonNullable<ReturnType<typeof termsOf>>;

/** Returns the terms of a cause's score; null for a cause that cannot explain any firing effect. */
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
    /** Number of effects that the cause cannot explain. */
    unexplained: unexplainedBy(cause, effects, failedShare),
  };
}

function scoreOf(terms: Terms | null, cause: NamedCause, by: Estimates): number {
  if (terms === null) return Number.NEGATIVE_INFINITY;
  const sum = terms.signs.reduce((total, sign) => total + weigh(sign, cause, by), terms.unexplained * by.unexplained);
  return (priorOf(cause, by) + (terms.hasOwnSign ? sum : Math.min(0, sum))) / by.temperature;
}

/** Maximum number of signs that are listed if the cause is unknown; more signs would distract the reader. */
const MAX_DIFFERENCES = 4;

/** Returns the largest weight of a sign for any cause, in nats; infinite for the sign that names the faulty stage. */
function strengthOf(sign: Sign): number {
  return sign.name === 'stage'
    ? Number.POSITIVE_INFINITY
    : Math.max(...namedCauses.map((cause) => judgedWeightOf(sign, cause)));
}

/**
 * Returns the signs that differ most from their earlier state, for alerts that no cause explains. The faulty stage
 * comes first, because it narrows the search most.
 */
function differencesOf(signs: readonly Sign[]) {
  const differences = signs
    .filter((sign) => !isHealthy(sign))
    .map((sign) => ({ sign, strength: strengthOf(sign) }))
    .filter(({ strength }) => strength > 0)
    .toSorted((a, b) => b.strength - a.strength);
  return { supporting: differences.slice(0, MAX_DIFFERENCES).map(({ sign }) => sign), opposing: [] };
}

function sidesOf(signs: readonly Sign[], cause: NamedCause, by: Estimates) {
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

function named(ranked: readonly RankedCause[]): CauseRanking {
  const ofUnknown = ranked.find(({ cause }) => cause === 'unknown')?.probability ?? 0;
  const unknown = { cause: 'unknown', confidence: 'low', probability: ofUnknown, ranked } as const;
  const [first] = ranked;
  if (first === undefined || first.cause === 'unknown' || !hasOwnSign(first)) return unknown;
  const [, beside = null, third] = plausible(ranked);
  const together = first.probability + (beside?.probability ?? 0);
  if (together <= MIN_TO_NAME || third !== undefined) return unknown;
  const { cause, probability } = first;
  const isHigh = beside === null && probability >= needs.high;
  return { cause, confidence: isHigh ? 'high' : probability >= needs.medium ? 'medium' : 'low', probability, ranked };
}

export interface RankedEffects extends CauseRanking {
  readonly effects: readonly Effect[];
  /** Share of golden queries that failed; null if no golden run was examined. */
  readonly failedShare: number | null;
}

/**
 * Returns the cause that the evidence cannot distinguish from the named one; null if there is none, or if no cause is
 * named. If each of two causes explains an effect that the other cause cannot explain, both faults are present, so the
 * two causes are not alternatives.
 */
export function besideOf({ cause, ranked, effects, failedShare }: RankedEffects): RankedCause | null {
  // Other causes are no alternatives to a faulty deployment: whatever the deployment changed, the fix is to roll it
  // back.
  if (cause === 'unknown' || cause === 'deployment') return null;
  const beside = plausible(ranked).find((one) => one.cause !== cause) ?? null;
  if (beside === null || beside.cause === 'unknown') return null;
  const leaves = (one: NamedCause): readonly Effect[] =>
    effects.flatMap((effect) => leftBy([one], effect, failedShare) ?? []);
  const together = effects.flatMap((effect) => leftBy([cause, beside.cause as NamedCause], effect, failedShare) ?? []);
  return leaves(cause).length > together.length && leaves(beside.cause).length > together.length ? null : beside;
}

/** Returns the first cause and all likely alternatives. If there are two or more alternatives, no cause is named. */
function plausible([first, ...others]: readonly RankedCause[]): RankedCause[] {
  const beside = others.filter((one) => one.probability >= MIN_BESIDE && hasOwnSign(one));
  return first === undefined ? [] : [first, ...beside];
}

function hasOwnSign({ cause, supporting }: RankedCause): boolean {
  return cause !== 'unknown' && supporting.some((sign) => isOwnSign(sign, cause));
}

/** Returns the weight of one sign for a cause, in nats, limited by the sample size. */
export function weigh(sign: Sign, cause: NamedCause, by: Estimates = fittedEstimates): number {
  const most = mostNats(sign);
  return Math.max(-most, Math.min(most, weightOf(sign, cause, by)));
}

function assertOneOfEach(signs: readonly Sign[]): void {
  const seen = new Set<SignName>();
  for (const { name } of signs) {
    if (seen.has(name)) throw new RangeError(`The sign ${name} occurs twice.`);
    seen.add(name);
  }
}
