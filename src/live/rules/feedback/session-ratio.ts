/** Ratios over sampled queries whose users might have acted otherwise. */
import { type ClusterMember, effectiveClusters } from '../sampling/clusters.ts';
import { type InsufficientFeedback, tooFew } from './insufficient-data.ts';

export interface RatioTerm extends ClusterMember {
  readonly numerator: number;
  /** >= 0; 0 only where the numerator is 0 as well. */
  readonly denominator: number;
}

export interface SessionRatio {
  readonly kind: 'ratio';
  readonly value: number;
  /** Sums of the weighted terms; `value` is their ratio. */
  readonly numerator: number;
  readonly denominator: number;
  /** Of `value`. */
  readonly variance: number;
  /** Terms with a part in it. */
  readonly n: number;
  readonly sessions: number;
  /** Kish's effective number of sessions. */
  readonly effectiveSessions: number;
}

/** One session has no spread. */
const MIN_SESSIONS = 2;

/**
 * Sum of numerator / probability over sum of denominator / probability, with the variance that the sums have because
 * other sessions might have come and their users might have clicked otherwise:
 *
 *     m / (m - 1)  sum over sessions of (sum of (numerator - value * denominator) / probability)^2 / denominator^2
 *
 * It is the linearised variance of a ratio (Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
 * section 5.6) between ultimate clusters (Hansen, Hurwitz and Madow 1953), close to what a bootstrap over sessions would
 * give. Queries of a session may depend on each other in any way. Unlike `hajekRatio` it does not vanish when every
 * query was kept: a click is chance even then.
 *
 * @throws RangeError for a probability outside (0, 1] or a sum that is not finite
 */
export function sessionRatio(terms: readonly RatioTerm[]): SessionRatio | InsufficientFeedback {
  const members = terms.filter(({ denominator }) => denominator > 0);
  let numerator = 0;
  let denominator = 0;
  for (const member of members) {
    if (!(member.probability > 0 && member.probability <= 1)) {
      throw new RangeError(`An inclusion probability must lie in (0, 1], not be ${member.probability}.`);
    }
    numerator += member.numerator / member.probability;
    denominator += member.denominator / member.probability;
  }
  const value = denominator === 0 ? 0 : numerator / denominator;
  const residuals = new Map<string | number, number>();
  for (const { cluster, probability, numerator, denominator } of members) {
    const residual = (numerator - value * denominator) / probability;
    residuals.set(cluster, (residuals.get(cluster) ?? 0) + residual);
  }
  const sessions = residuals.size;
  if (sessions < MIN_SESSIONS) return tooFew('sessions', sessions, MIN_SESSIONS);
  let squares = 0;
  for (const residual of residuals.values()) squares += (residual / denominator) ** 2;
  const variance = (sessions / (sessions - 1)) * squares;
  const effectiveSessions = effectiveClusters(members);
  if (![numerator, denominator, variance, effectiveSessions].every(Number.isFinite)) {
    throw new RangeError('A ratio over sessions overflowed; a probability is too small.');
  }
  return {
    kind: 'ratio',
    value,
    numerator,
    denominator,
    variance,
    n: members.length,
    sessions,
    effectiveSessions,
  };
}
