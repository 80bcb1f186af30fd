/** Anytime-valid tests: the e-detector, the confidence sequence of a mean, and the e-value of counts. */
import { logBeta, logMean } from './distributions.ts';
import type { Bounds } from './intervals.ts';

/**
 * E-detector M_t = (M_{t-1} + 1) e^g: evidence, accumulated over windows, that the mean score has risen above a null
 * mean (Shin, Ramdas and Rinaldo, 2022). If an alert fires when M reaches a threshold, the expected number of windows
 * until a false alert is at least the threshold.
 */
export interface DetectorSettings {
  /** Null mean m0 of the session scores, in (0, 1). */
  readonly nullMean: number;
  /** Overdispersion, >= 1. The growth g of each bet is divided by phi. */
  readonly phi: number;
  /** Stakes lambda of the bets; each is limited to 0.9 / m0. */
  readonly lambdas?: readonly number[];
}

/** Detector state: finite numbers that are stored unchanged. */
export interface DetectorState {
  /** For each bet, ln(M + 1), the logarithm of the factor for the next window; initially 0. */
  readonly carried: readonly number[];
}

const DEFAULT_LAMBDAS: readonly number[] = [0.25, 0.5, 1, 2, 3.5];

/** A bet loses at most this share of its value in any session. */
const MAX_STAKE = 0.9;

/** Returns a detector without data: M = 0. @throws RangeError for a null mean outside (0, 1) or a phi below 1 */
export function newDetector(settings: DetectorSettings): DetectorState {
  const { nullMean, phi } = settings;
  if (!(nullMean > 0 && nullMean < 1)) throw new RangeError(`A null mean must be in (0, 1), not ${nullMean}.`);
  if (!(phi >= 1)) throw new RangeError(`An overdispersion must be at least 1, not ${phi}.`);
  return { carried: lambdasOf(settings).map(() => 0) };
}

/**
 * Adds the sessions of one window. Each bet grows by g(lambda) = (1 / phi) sum over sessions of ln(1 + lambda (y -
 * m0)). The result does not depend on the order of the sessions, not even in the last digit. In an empty window, g is
 * 0, so M still grows by 1. All values are stored as logarithms and cannot overflow.
 *
 * @param scores one score y per session, in [0, 1]; for query densities, y is the mean of x / ln 100 over the session
 * @throws RangeError for a score outside [0, 1] or NaN, because an e-value of NaN would never recover
 */
export function stepDetector(settings: DetectorSettings, state: DetectorState, scores: ArrayLike<number>) {
  const sorted = Float64Array.from(scores).toSorted();
  const outside = sorted.find((score) => !(score >= 0 && score <= 1));
  if (outside !== undefined) throw new RangeError(`A session score must be in [0, 1], not ${outside}.`);
  const logIncrements = lambdasOf(settings).map((lambda) => {
    let sum = 0;
    for (const score of sorted) sum += Math.log1p(lambda * (score - settings.nullMean));
    return sum / settings.phi;
  });
  const logM = logIncrements.map((increment, bet) => (state.carried[bet] ?? 0) + increment);
  const carried = logM.map(logOnePlusExp);
  return {
    state: { carried },
    /** Growth g of each bet in the window. */
    logIncrements,
    /** Logarithm of the evidence M of each bet after the window. */
    logM,
    /** Logarithm of the mean of M over the bets. */
    logEvidence: logMean(logM),
  };
}

function lambdasOf({ lambdas = DEFAULT_LAMBDAS, nullMean }: DetectorSettings): number[] {
  return lambdas.map((lambda) => Math.min(lambda, MAX_STAKE / nullMean));
}

/** ln(1 + e^value). */
function logOnePlusExp(value: number): number {
  return value > 0 ? value + Math.log1p(Math.exp(-value)) : Math.log1p(Math.exp(value));
}

/**
 * Confidence sequence of a mean whose estimate is approximately normal. The probability that the interval misses the
 * true mean in any interim analysis is about alpha.
 *
 * The interval is estimate -+ sqrt(2 V (V + t^2) / t^2 ln(sqrt((V + t^2) / V) / alpha)), where V is the variance of the
 * estimate. The interval inverts a martingale: the likelihood of a normal mixture of means, centered on the true mean
 * with standard deviation t, divided by the likelihood of the true mean (Robbins 1970; Johari, Koomen, Pekelis and
 * Walsh, KDD 2017). With an estimated variance, the guarantee is asymptotic in the sample size (Waudby-Smith, Arbour,
 * Sinha, Kennedy and Ramdas, Time-uniform central limit theory and asymptotic confidence sequences, 2024).
 *
 * @param variance of the estimate, > 0
 * @param scale t, > 0, chosen before the first analysis: about the effect that should be detected soonest
 * @param alpha in (0, 1)
 */
export function normalMixtureInterval(estimate: number, variance: number, scale: number, alpha: number): Bounds {
  const both = variance + scale ** 2;
  const reach = Math.sqrt(((2 * variance * both) / scale ** 2) * Math.log(Math.sqrt(both / variance) / alpha));
  return { low: estimate - reach, high: estimate + reach };
}

/**
 * Natural log of the e-value of the counts against the given shares. The e-value is the likelihood of the counts under
 * shares drawn from a Dirichlet distribution around the given shares, divided by their likelihood under the given
 * shares. If the given shares are correct, the e-value is a martingale with mean 1, so the probability that it ever
 * exceeds 1 / alpha is at most alpha (Ville; Lindon and Malek, Anytime-valid inference for multinomial count data,
 * NeurIPS 2022).
 *
 * @param counts count of each kind
 * @param shares share of each kind; shares are positive and sum to 1
 * @param concentration of the Dirichlet distribution: a share p has the variance p (1 - p) / (concentration + 1)
 */
export function logShareEvidence(counts: readonly number[], shares: readonly number[], concentration: number): number {
  let evidence = 0;
  let [remaining, prior] = [counts.reduce((sum, count) => sum + count, 0), concentration];
  for (const [kind, share] of shares.entries()) {
    const [count, own] = [counts[kind] ?? 0, concentration * share];
    evidence -= count * Math.log(share);
    [remaining, prior] = [remaining - count, prior - own];
    // Without one kind, the relative shares of the remaining kinds again follow a Dirichlet distribution.
    if (kind < shares.length - 1) evidence += logBeta(own + count, prior + remaining) - logBeta(own, prior);
  }
  return evidence;
}
