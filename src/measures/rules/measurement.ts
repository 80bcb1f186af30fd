/** The outcome of a scheduled measure: a value with its bounds, or the reason why there is none. */

/** Names one series of values over time. */
export interface MeasurementSeries {
  readonly pipeline: string;
  /** In snake case, such as `zero_results_ratio`. */
  readonly measure: string;
  /** `all`, `key=value` of a tag, or `other`. */
  readonly segment: string;
}

interface Measuring extends MeasurementSeries {
  /** Start of the window of the data, inclusive. */
  readonly windowStart: Date;
  /** End of the window, exclusive. It dates the value: a series has one value for each end of a window. */
  readonly windowEnd: Date;
  readonly measuredAt: Date;
  /** What else is worth keeping, as JSON. Never a text of a query, nor an id of a user, query or document. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Measurement extends Measuring {
  readonly kind: 'value';
  readonly value: number;
  /** 95 % bounds; null for what is known without doubt, or cannot be bounded. */
  readonly ciLow: number | null;
  readonly ciHigh: number | null;
  /** How the bounds were found, such as `wilson`; null without bounds. */
  readonly ciMethod: string | null;
  /** Number of queries, sessions, opinions or the like behind the value. */
  readonly n: number;
}

/** An attempt that gave no value. */
export interface MeasurementGap extends Measuring {
  readonly kind: 'no_data';
  /** A word in snake case out of few, such as `too_few_sessions`. */
  readonly reason: string;
}

export type MeasurementOutcome = Measurement | MeasurementGap;

/**
 * Refuses what must never be stored or shown.
 *
 * @throws RangeError for a value or bound that is not finite, bounds that do not hold the value, one bound without the
 * other, an n that is no integer >= 0, and a window that ends before it starts
 */
export function checkMeasurement(outcome: MeasurementOutcome): void {
  const { pipeline, measure, segment, windowStart, windowEnd } = outcome;
  const refuse = (problem: string): never => {
    throw new RangeError(`The measurement ${measure} of ${segment} on ${pipeline} ${problem}.`);
  };
  if (!(windowEnd.getTime() >= windowStart.getTime())) refuse('has a window that ends before it starts');
  if (outcome.kind === 'no_data') return;
  const { value, ciLow, ciHigh, n } = outcome;
  if (!Number.isFinite(value)) refuse(`is not finite: ${value}`);
  if (!Number.isSafeInteger(n) || n < 0) refuse(`has an n that is no count: ${n}`);
  if (ciLow === null && ciHigh === null) return;
  if (ciLow === null || ciHigh === null) refuse('has one bound without the other');
  else if (!(Number.isFinite(ciLow) && Number.isFinite(ciHigh) && ciLow <= value && value <= ciHigh)) {
    refuse(`has bounds from ${ciLow} to ${ciHigh} that do not hold its value ${value}`);
  }
}
