/** One e-detector for all traffic and one for each region, so that a loss in one region is not diluted. */
import { logAdd, logMean } from '../../math/stats/distributions.ts';
import { type DetectorSettings, newDetector, stepDetector } from '../../math/stats/sequential.ts';
import { type BaselineSpread, nullMean, type regionSpreads } from './baseline-spread.ts';
import type { SessionScores } from './sessions.ts';

export type CombinedDetectors = ReturnType<typeof detectorsOf>;

/**
 * Creates the detectors for a baseline: one for all traffic, and one for each monitored region.
 *
 * @param floors lowest densities that do not count as drift
 */
export function detectorsOf(
  baseline: { readonly global: BaselineSpread; readonly monitored: Readonly<ReturnType<typeof regionSpreads>> },
  floors: { readonly global: number; readonly region: number },
) {
  return {
    global: detectorOf(baseline.global, floors.global),
    regions: baseline.monitored.map((spread) => ({ region: spread.region, ...detectorOf(spread, floors.region) })),
  };
}

function detectorOf({ meanXUpper, phi }: BaselineSpread, floor: number): DetectorSettings {
  return { nullMean: nullMean(meanXUpper, floor), phi };
}

export type CombinedState = ReturnType<typeof newCombinedDetector>;

export type CombinedStep = ReturnType<typeof stepCombinedDetector>;

const LOG_HALF = Math.log(0.5);

export function newCombinedDetector({ global, regions }: CombinedDetectors) {
  // The states of the region detectors are in the order of `detectors.regions`.
  return { global: newDetector(global), regions: regions.map(newDetector) };
}

/**
 * Adds one window to all detectors. The combined e-value is half of M_global plus half of the mean of M_region, or
 * M_global if there are no monitored regions. An average of e-values is itself an e-value.
 */
export function stepCombinedDetector(settings: CombinedDetectors, state: CombinedState, scores: SessionScores) {
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
    /** ln of the global e-value M. */
    logGlobal: global.logEvidence,
    logRegions: regions.map(({ region, logEvidence }) => ({ region, logEvidence })),
    /** ln of the combined e-value. */
    logEvidence,
  };
}
