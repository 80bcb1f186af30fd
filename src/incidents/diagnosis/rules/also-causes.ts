/** Finds simultaneous faults: causes of the firing alerts that the likeliest cause does not explain. */
import type { Cause, Confidence, NamedCause } from './cause.ts';
import { canExplain, type Effect, type EffectKind, effectTitles, leftBy } from './effects.ts';
import { movedBy } from './moved-by.ts';
import { besideOf, type RankedEffects, rankCauses, weigh } from './rank-causes.ts';
import { isHealthy, type Sign, type SignName } from './signs.ts';

export interface AlsoCause {
  readonly cause: NamedCause;
  readonly confidence: Confidence;
  readonly probability: number;
  /** The firing effects that this cause can explain. */
  readonly effects: readonly EffectKind[];
}

/** Effects that concern calls rather than results, with the signs that show these effects. */
const ofCalls: Readonly<Partial<Record<EffectKind, readonly SignName[]>>> = {
  latency: ['latency', 'warming', 'top_query'],
  failures: ['failures', 'failure_kind', 'top_query'],
  live_errors: ['live_errors', 'failures', 'failure_kind', 'top_query'],
  judge: ['judge'],
  runs: ['own_work'],
  canary: ['canary', 'embedder'],
  traffic: ['top_query', 'repeated_queries', 'language', 'query_length', 'malformed_queries', 'query_style'],
};

/**
 * Ranks causes for the effects that the first cause cannot explain, using the signs that the first cause does not
 * account for. First ranks causes for all remaining effects together; if this ranking names no cause, ranks causes for
 * each effect separately. If the main ranking named no cause, for example because no single cause explains all firing
 * alerts, skips the joint ranking and ranks causes for each effect separately.
 *
 * @param signs the evidence of the main ranking
 */
export function alsoCauses(ranking: RankedEffects, signs: readonly Sign[]): AlsoCause[] {
  const { cause, effects, failedShare } = ranking;
  const named: readonly Cause[] = [cause, besideOf(ranking)?.cause ?? cause];
  const first = named.filter((one) => one !== 'unknown');
  if (first.length === 0 && effects.filter(({ size }) => size > 0).length < 2) return [];
  const also: AlsoCause[] = [];
  for (;;) {
    const known = [...first, ...also.map((one) => one.cause)];
    const left = effects.flatMap((effect) => leftBy(known, effect, failedShare) ?? []);
    const found = left.length === 0 ? [] : causesOf(left, known, signs, failedShare);
    if (found.length === 0) return also;
    also.push(...found);
  }
}

function causesOf(
  left: readonly Effect[],
  known: readonly NamedCause[],
  signs: readonly Sign[],
  failedShare: number | null,
): AlsoCause[] {
  const together = known.length === 0 ? null : causeOf(left, known, signs, failedShare);
  if (together !== null || left.length < 2) return together === null ? [] : [together];
  const found = left.flatMap((effect) => causeOf([effect], known, signs, failedShare) ?? []);
  return [...new Set(found.map((one) => one.cause))].flatMap((one) => {
    const same = found.filter((also) => also.cause === one);
    const [best] = same.toSorted((a, b) => b.probability - a.probability);
    return best === undefined ? [] : [{ ...best, effects: same.flatMap((also) => also.effects) }];
  });
}

/** Returns null if the ranking does not name exactly one new cause. */
function causeOf(
  left: readonly Effect[],
  first: readonly NamedCause[],
  signs: readonly Sign[],
  failedShare: number | null,
): AlsoCause | null {
  const open = signs.filter((sign) => isOpen(sign, left, first));
  const ranking = { ...rankCauses(open, left, failedShare), effects: left, failedShare };
  const { cause, confidence, probability } = ranking;
  if (cause === 'unknown' || first.includes(cause) || besideOf(ranking) !== null) return null;
  // If the first ranking named no cause, a guess in this ranking is not reported.
  if (first.length === 0 && confidence === 'low') return null;
  const own = left.filter((effect) => canExplain(cause, effect, failedShare)).map(({ kind }) => kind);
  return { cause, confidence, probability, effects: own };
}

/**
 * Returns true if a sign is used to rank a second fault: it is healthy, it shows a remaining effect, or it does not fit
 * the first cause.
 */
function isOpen(sign: Sign, left: readonly Effect[], first: readonly NamedCause[]): boolean {
  if (isHealthy(sign) || sign.name === 'own_work') return true;
  if (left.some(({ kind }) => movedBy[kind]?.[0] === sign.name || ofCalls[kind]?.includes(sign.name) === true))
    return true;
  return left.some(({ kind }) => ofCalls[kind] === undefined) && first.every((cause) => weigh(sign, cause) <= 0);
}

/** Formats the effects, such as `the slow responses and the failed live queries`. */
export function effectsText({ effects }: AlsoCause): string {
  return effects.map((kind) => effectTitles[kind]).join(' and ');
}
