/** One e-detector for all traffic and one for each region, so that a local loss is not diluted. */
import { logAdd, logMean } from '../../math/stats/distributions.ts';
import { type DetectorSettings, type DetectorState, newDetector, stepDetector } from '../../math/stats/sequential.ts';
import type { SessionScores } from './sessions.ts';

export interface CombinedSettings {
  readonly global: DetectorSettings;
  /** Monitored regions, which have enough sessions in the baseline. */
  readonly regions: readonly (DetectorSettings & { readonly region: number })[];
}

export interface CombinedState {
  readonly global: DetectorState;
  /** One entry per monitored region, in settings order. */
  readonly regions: readonly DetectorState[];
}

export type CombinedStep = ReturnType<typeof stepCombinedDetector>;

const LOG_HALF = Math.log(0.5);

export function newCombinedDetector({ global, regions }: CombinedSettings): CombinedState {
  return { global: newDetector(global), regions: regions.map(newDetector) };
}

/**
 * Adds one window to all detectors. The combined e-value is M_global / 2 + mean of M_region / 2, or M_global if there
 * are no monitored regions. An average of e-values keeps their guarantee.
 */
export function stepCombinedDetector(settings: CombinedSettings, state: CombinedState, scores: SessionScores) {
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
