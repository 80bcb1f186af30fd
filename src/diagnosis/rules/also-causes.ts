/** Of two faults at once: a cause for what is in alarm and the likeliest cause cannot bring about. */
import {
  type Cause,
  type Confidence,
  canExplain,
  type Effect,
  type EffectKind,
  effectTitles,
  type NamedCause,
} from './cause.ts';
import { movedBy } from './moved-by.ts';
import { besideOf, type CauseRanking, rankCauses, weigh } from './rank-causes.ts';
import { isHealthy } from './samples.ts';
import type { Sign } from './signs.ts';

export interface AlsoCause {
  readonly cause: NamedCause;
  readonly confidence: Confidence;
  readonly probability: number;
  /** What it can bring about of what is in alarm. */
  readonly effects: readonly EffectKind[];
}

/** Measured of calls, not of what is in the answers. */
const ofCalls: ReadonlySet<EffectKind> = new Set(['latency', 'failures', 'live_errors', 'judge', 'runs', 'canary']);

/**
 * Ranks causes again for what the first cannot bring about, over the signs that the first does not account for.
 *
 * @param signs that are weighed
 */
export function alsoCauses(
  { cause, ranked }: Pick<CauseRanking, 'cause' | 'ranked'>,
  signs: readonly Sign[],
  effects: readonly Effect[],
  failedShare: number | null,
): AlsoCause[] {
  const named: readonly Cause[] = [cause, besideOf(ranked, cause)?.cause ?? cause];
  const first = named.filter((one) => one !== 'unknown');
  const left = effects.filter(
    (effect) => effect.size > 0 && !first.some((one) => canExplain(one, effect, failedShare)),
  );
  if (first.length === 0 || left.length === 0) return [];
  const second = rankCauses(
    signs.filter((sign) => isOpen(sign, left, first)),
    left,
    failedShare,
  );
  const { cause: other, confidence, probability } = second;
  if (other === 'unknown' || first.includes(other) || besideOf(second.ranked, other) !== null) return [];
  const own = left.filter((effect) => canExplain(other, effect, failedShare)).map(({ kind }) => kind);
  return [{ cause: other, confidence, probability, effects: own }];
}

/** Whether a sign can be of another fault than the first: it is healthy, shows what is left, or does not fit the first. */
function isOpen(sign: Sign, left: readonly Effect[], first: readonly NamedCause[]): boolean {
  if (isHealthy(sign) || sign.name === 'own_work' || left.some(({ kind }) => movedBy[kind]?.[0] === sign.name))
    return true;
  return left.some(({ kind }) => !ofCalls.has(kind)) && first.every((cause) => weigh(sign, cause) <= 0);
}

/** `the slow answers and the failed live queries` */
export function effectsText({ effects }: Pick<AlsoCause, 'effects'>): string {
  return effects.map((kind) => effectTitles[kind]).join(' and ');
}
