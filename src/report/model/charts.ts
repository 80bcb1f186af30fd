/** Charts as data. A page draws them; a terminal prints one line for each. */
import type { Unit } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';

export interface TrendPoint {
  readonly at: Date;
  readonly value: number;
  /** 95 % CI; null without one. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface TrendSeries {
  readonly name: string;
  readonly points: readonly TrendPoint[];
}

export interface TrendMark {
  readonly at: Date;
  readonly text: string;
}

export interface TrendLevel {
  readonly value: number;
  readonly text: string;
  /** True if crossing it makes a check fail; false for a visual guide. */
  readonly isThreshold: boolean;
}

/** A measure over time with its confidence band, thresholds, and deployments that may explain a change. */
export interface TrendChart {
  readonly kind: 'trend';
  /** Prefix of element ids; unique within a page. */
  readonly id: string;
  readonly title: string;
  /** At most four. */
  readonly series: readonly TrendSeries[];
  readonly marks?: readonly TrendMark[];
  readonly levels?: readonly TrendLevel[];
  readonly limits?: readonly [number | null, number | null];
  readonly unit: Unit;
  /** Text shown when no series has a point. */
  readonly empty: string;
  /** Start of the time axis, if earlier than the time range of the page. */
  readonly from?: Date;
}

/** The current distribution drawn over that of the baseline. */
export interface DistributionChart {
  readonly kind: 'distribution';
  readonly id: string;
  readonly title: string;
  /** Null when there is no value yet; `empty` then says why. */
  readonly distributions: Distributions | null;
  readonly empty: string;
}

/** Shares of two sets of values over common bins. */
export interface Distributions {
  /** Edges of the bins, one more than there are bins. */
  readonly edges: readonly number[];
  /** Shares by bin, which add up to 1; null without a value. */
  readonly baseline: readonly number[] | null;
  readonly current: readonly number[] | null;
}

/** A whole and its parts, as one bar. */
export interface PartsChart {
  readonly kind: 'parts';
  readonly id: string;
  readonly title: string;
  readonly parts: readonly { readonly name: string; readonly share: number; readonly tone: string }[];
}

/** Verdicts of checks over time, one strip a check; a worse verdict is drawn higher. */
export interface StripsChart {
  readonly kind: 'strips';
  readonly strips: readonly { readonly label: string; readonly intervals: readonly VerdictInterval[] }[];
  readonly from: Date;
  readonly until: Date;
}

export interface VerdictInterval {
  readonly verdict: Verdict;
  readonly from: Date;
  readonly until: Date;
}

/** Turns stored measurements into points at the ends of their windows. */
export function measuredPoints(
  measured: readonly {
    readonly windowEnd: Date;
    readonly value: number;
    readonly ciLow: number | null;
    readonly ciHigh: number | null;
  }[],
): TrendPoint[] {
  return measured.map(({ windowEnd, value, ciLow, ciHigh }) => ({ at: windowEnd, value, low: ciLow, high: ciHigh }));
}
