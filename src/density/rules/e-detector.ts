/**
 * E-detector of bounded means: evidence, window after window, that the mean of session scores rose above a null mean,
 * valid however often one looks (Shin, Ramdas and Rinaldo, 2022).
 */
import { logAdd, logMean } from '../../math/stats/distributions.ts';
import type { SessionScores } from './sessions.ts';

/**
 * `shiryaev_roberts`: M_t = (M_{t-1} + 1) e^g, for which the expected number of windows to a false alarm is at least
 * the threshold. `cusum`: M_t = max(M_{t-1}, 1) e^g.
 */
type DetectorForm = 'shiryaev_roberts' | 'cusum';

export interface DetectorSettings {
  /** Null mean m0 of the session scores, in (0, 1). */
  readonly nullMean: number;
  /** Overdispersion, >= 1, by which evidence is tempered. */
  readonly phi: number;
  /** Stakes lambda of the bets; each is capped at 0.9 / m0. */
  readonly lambdas?: readonly number[];
  readonly form?: DetectorForm;
}

/** What a detector knows; plain numbers, finite, to be stored as they are. */
interface DetectorState {
  /** For each bet ln of what the next window multiplies: ln(M + 1), or ln max(M, 1) in the cusum form. At first 0. */
  readonly carried: readonly number[];
}

interface DetectorStep {
  readonly state: DetectorState;
  /** g of each bet. */
  readonly logIncrements: readonly number[];
  /** ln M of each bet after the window. */
  readonly logM: readonly number[];
  /** ln of the mean of M over the bets. */
  readonly logEvidence: number;
}

const DEFAULT_LAMBDAS: readonly number[] = [0.25, 0.5, 1, 2, 3.5];

/** A bet keeps at least a tenth of its stake, whatever a session shows. */
const MAX_STAKE = 0.9;

/** A detector that has seen nothing: M = 0. @throws RangeError for a null mean outside (0, 1) or a phi below 1 */
export function newDetector(settings: DetectorSettings): DetectorState {
  const { nullMean, phi } = settings;
  if (!(nullMean > 0 && nullMean < 1)) throw new RangeError(`A null mean must lie in (0, 1), not be ${nullMean}.`);
  if (!(phi >= 1)) throw new RangeError(`An overdispersion must be at least 1, not ${phi}.`);
  return { carried: lambdasOf(settings).map(() => 0) };
}

/**
 * Adds the sessions of one window, each with its mean of x / ln 100:
 *
 *     g(lambda) = (1 / phi) sum over sessions of ln(1 + lambda (y - m0))
 *
 * The order of the sessions does not matter, to the last digit. An empty window has g = 0, so that M still grows by 1
 * in the Shiryaev-Roberts form. Everything is held as logarithms and cannot overflow.
 *
 * @param scores y of each session, in [0, 1]
 * @throws RangeError for a score outside, NaN among them: evidence that is not a number would never go away
 */
export function stepDetector(
  settings: DetectorSettings,
  state: DetectorState,
  scores: ArrayLike<number>,
): DetectorStep {
  const sorted = Float64Array.from(scores).toSorted();
  const outside = sorted.find((score) => !(score >= 0 && score <= 1));
  if (outside !== undefined) throw new RangeError(`A session score must lie in [0, 1], not be ${outside}.`);
  const logIncrements = lambdasOf(settings).map((lambda) => {
    let sum = 0;
    for (const score of sorted) sum += Math.log1p(lambda * (score - settings.nullMean));
    return sum / settings.phi;
  });
  const logM = logIncrements.map((increment, bet) => (state.carried[bet] ?? 0) + increment);
  const carried = logM.map(settings.form === 'cusum' ? (value) => Math.max(value, 0) : logOnePlusExp);
  return { state: { carried }, logIncrements, logM, logEvidence: logMean(logM) };
}

function lambdasOf({ lambdas = DEFAULT_LAMBDAS, nullMean }: DetectorSettings): number[] {
  return lambdas.map((lambda) => Math.min(lambda, MAX_STAKE / nullMean));
}

/** ln(1 + e^value). */
function logOnePlusExp(value: number): number {
  return value > 0 ? value + Math.log1p(Math.exp(-value)) : Math.log1p(Math.exp(value));
}

// One detector for all traffic and one for each region, so that a loss in a corner is not diluted.

export interface CombinedSettings {
  readonly global: DetectorSettings;
  /** Monitored regions: those with sessions enough in the baseline. */
  readonly regions: readonly (DetectorSettings & { readonly region: number })[];
}

export interface CombinedState {
  readonly global: DetectorState;
  /** In the order of the settings. */
  readonly regions: readonly DetectorState[];
}

export interface CombinedStep {
  readonly state: CombinedState;
  /** ln M of the global detector. */
  readonly logGlobal: number;
  readonly logRegions: readonly { readonly region: number; readonly logEvidence: number }[];
  /** ln of the combined evidence. */
  readonly logEvidence: number;
}

const LOG_HALF = Math.log(0.5);

export function newCombinedDetector({ global, regions }: CombinedSettings): CombinedState {
  return { global: newDetector(global), regions: regions.map(newDetector) };
}

/**
 * Adds one window to all detectors. Combined evidence = M_global / 2 + mean of the M_region / 2, or M_global alone when
 * no region is monitored; the average keeps the guarantee of its parts.
 */
export function stepCombinedDetector(
  settings: CombinedSettings,
  state: CombinedState,
  scores: SessionScores,
): CombinedStep {
  const global = stepDetector(settings.global, state.global, scores.all);
  const regions = settings.regions.map((region, i) => ({
    region: region.region,
    ...stepDetector(region, state.regions[i] ?? newDetector(region), scores.regions.get(region.region) ?? []),
  }));
  const logEvidence =
    regions.length === 0
      ? global.logEvidence
      : logAdd(LOG_HALF + global.logEvidence, LOG_HALF + logMean(regions.map((region) => region.logEvidence)));
  return {
    state: { global: global.state, regions: regions.map((region) => region.state) },
    logGlobal: global.logEvidence,
    logRegions: regions.map(({ region, logEvidence }) => ({ region, logEvidence })),
    logEvidence,
  };
}
