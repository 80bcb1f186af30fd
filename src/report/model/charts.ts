/** Charts as data: what is drawn on a page and told in a line on a terminal. */
import type { Unit } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';

/** A measured value in a chart. */
export interface TrendPoint {
  readonly at: Date;
  readonly value: number;
  /** 95 % bounds; null for what has none. */
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
  /** Whether crossing it is an alarm, rather than a help to the eye. */
  readonly isThreshold: boolean;
}

/** A measure over time with its confidence band, thresholds, and the deployments that may explain it. */
export interface TrendChart {
  readonly kind: 'trend';
  /** Of the elements that name it; unique within a page. */
  readonly id: string;
  readonly title: string;
  /** At most four. */
  readonly series: readonly TrendSeries[];
  readonly marks?: readonly TrendMark[];
  readonly levels?: readonly TrendLevel[];
  readonly limits?: readonly [number | null, number | null];
  readonly unit: Unit;
  /** What is said where there is nothing to draw. */
  readonly empty: string;
  /** When it starts, where that is before the time that is looked at. */
  readonly from?: Date;
}

/** Two distributions over each other; null where there is no value yet, for the reason that `empty` gives. */
export interface DistributionChart {
  readonly kind: 'distribution';
  readonly id: string;
  readonly title: string;
  readonly distributions: Distributions | null;
  readonly empty: string;
}

/** Shares of two sets of values over common bins. */
export interface Distributions {
  /** Ends of the bins, one more than there are. */
  readonly edges: readonly number[];
  /** Shares by bin, each adding up to 1; null without a value. */
  readonly reference: readonly number[] | null;
  readonly current: readonly number[] | null;
}

/** A whole and its parts, as one bar. */
export interface PartsChart {
  readonly kind: 'parts';
  readonly id: string;
  readonly title: string;
  readonly parts: readonly { readonly name: string; readonly share: number; readonly tone: string }[];
}

/** How checks stood over time, one strip each: the worse, the higher. */
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

/** What a stored measurement is in a chart: it stands at the end of its window. */
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
