/** What the ranking of causes goes by: priors and weights, as they were judged or as they were fitted. */
import { type NamedCause, namedCauses } from './cause.ts';
import type { SignWeights } from './sign-weights.ts';
import type { Sign } from './signs.ts';
import { judgedWeights } from './weights.ts';

export interface Estimates {
  /** ln P(cause) - ln P(unknown) before any sign. */
  readonly priors: Readonly<Partial<Record<NamedCause, number>>>;
  /** In nats; a cell that is left out is as it was judged. */
  readonly weights: Readonly<Partial<Record<NamedCause, SignWeights>>>;
  /** What each thing that fires and that a cause cannot bring about says against it, in nats, at most 0. */
  readonly unexplained: number;
  /** Sums of nats are divided by it: above 1 they claim more than they know. */
  readonly temperature: number;
}

/** Prior of `unknown`; the named causes share the rest equally. */
const PRIOR_OF_UNKNOWN = 0.2;

/** Judgement alone: what the fit starts from. */
export const judgedEstimates: Estimates = { priors: {}, weights: judgedWeights, unexplained: -1.5, temperature: 1 };

export function priorOf(cause: NamedCause, { priors }: Estimates): number {
  return priors[cause] ?? Math.log((1 - PRIOR_OF_UNKNOWN) / namedCauses.length / PRIOR_OF_UNKNOWN);
}

/** What one sign says of a cause, in nats. */
export function weightOf(sign: Pick<Sign, 'name' | 'state'>, cause: NamedCause, { weights }: Estimates): number {
  return cellOf(weights[cause], sign) ?? judgedWeightOf(sign, cause);
}

/** An edge of at least so many nats, as judged, points to a cause by itself; a weaker one only fits it. */
const OWN_SIGN = 2;

export function isOwnSign(sign: Pick<Sign, 'name' | 'state'>, cause: NamedCause): boolean {
  return judgedWeightOf(sign, cause) >= OWN_SIGN;
}

/** 0 where the graph has no edge from the sign to the cause. */
export function judgedWeightOf(sign: Pick<Sign, 'name' | 'state'>, cause: NamedCause): number {
  return cellOf(judgedWeights[cause], sign) ?? 0;
}

function cellOf(look: SignWeights | undefined, { name, state }: Pick<Sign, 'name' | 'state'>): number | undefined {
  const states: Readonly<Record<string, number | undefined>> = look?.[name] ?? {};
  return states[state];
}
