/** What the texts of answers cost, per live query, over a window of samples. */
import { studentTQuantile } from '../../stats/distributions.ts';
import type { ContextSize } from '../../text/context-size.ts';
import { type CalibratedMember, type ClickRateOutcome, meanShare, sessionRatio } from './feedback/click-rates.ts';

/** A sampled query whose results came with their texts; null for any other. */
export interface ContextQuery extends CalibratedMember {
  readonly context: ContextSize | null;
}

type Sized = CalibratedMember & { readonly context: ContextSize };

function sized(queries: readonly ContextQuery[]): Sized[] {
  return queries.flatMap((query) => (query.context === null ? [] : [{ ...query, context: query.context }]));
}

/** Mean share of the context that an earlier result of the same list said already, bounds as of other shares. */
export function repeatedContext(queries: readonly ContextQuery[]): ClickRateOutcome {
  return meanShare(sized(queries), ({ context }) => context.repeated);
}

/** Mean of the characters of the context. */
export function contextCharacters(queries: readonly ContextQuery[]): ClickRateOutcome {
  return meanCount(sized(queries).map((query) => ({ ...query, value: query.context.characters })));
}

/** Mean of a count of each query: 95 % bounds by Student's t over sessions, never below 0. */
export function meanCount(queries: readonly (CalibratedMember & { readonly value: number })[]): ClickRateOutcome {
  const ratio = sessionRatio(
    queries.map(({ cluster, probability, calibration = 1, value }) => ({
      cluster,
      probability,
      numerator: value * calibration,
      denominator: calibration,
    })),
  );
  if (ratio.kind === 'insufficient_data') return ratio;
  const { value, variance, degreesOfFreedom, n, sessions } = ratio;
  const reach = variance === 0 ? 0 : studentTQuantile(0.975, degreesOfFreedom) * Math.sqrt(variance);
  return { kind: 'rate', value, low: Math.max(0, value - reach), high: value + reach, n, sessions };
}
