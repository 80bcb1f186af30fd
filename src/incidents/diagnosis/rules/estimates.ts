/** Estimates for ranking causes: priors and weights, set by judgment or fitted. */
import type { NamedCause } from './cause.ts';
import type { SignWeights } from './sign-weights.ts';
import type { SignState } from './signs.ts';
import { judgedWeights } from './weights.ts';

export interface Estimates {
  /** ln P(cause) - ln P(unknown) before any sign is considered. */
  readonly priors: Readonly<Partial<Record<NamedCause, number>>>;
  /**
   * Weight of each sign for or against each cause, in nats. If a weight is missing, the weight set by judgment
   * (weights.ts) applies.
   */
  readonly weights: Readonly<Partial<Record<NamedCause, SignWeights>>>;
  /** Weight against a cause for each effect (firing alert) that the cause cannot explain: in nats, at most 0. */
  readonly unexplained: number;
  /** Divisor for the sum of the prior and the weights; above 1 if the unscaled sums are overconfident. */
  readonly temperature: number;
}

/**
 * Prior of a cause without a fitted prior, in nats relative to `unknown`: `unknown` is about ten times as likely as the
 * cause.
 */
const PRIOR = -2.25;

/** Estimates that were set by judgment. The fit starts from these estimates. */
export const judgedEstimates: Estimates = { priors: {}, weights: judgedWeights, unexplained: -1.5, temperature: 1 };

export function priorOf(cause: NamedCause, { priors }: Estimates): number {
  return priors[cause] ?? PRIOR;
}

/** Returns the weight of one sign for a cause, in nats. */
export function weightOf(sign: SignState, cause: NamedCause, { weights }: Estimates): number {
  return cellOf(weights[cause], sign) ?? judgedWeightOf(sign, cause);
}

/**
 * Minimum weight, in nats, at which a sign points to a cause by itself; other signs only support the cause. Applies to
 * the weight that was set by judgment, not to the fitted weight.
 */
const OWN_SIGN = 2;

export function isOwnSign(sign: SignState, cause: NamedCause): boolean {
  return judgedWeightOf(sign, cause) >= OWN_SIGN;
}

/** Returns the weight that was set by judgment; 0 if the evidence graph has no edge from the sign to the cause. */
export function judgedWeightOf(sign: SignState, cause: NamedCause): number {
  return cellOf(judgedWeights[cause], sign) ?? 0;
}

function cellOf(look: SignWeights | undefined, { name, state }: SignState): number | undefined {
  const states: Readonly<Record<string, number | undefined>> = look?.[name] ?? {};
  return states[state];
}
