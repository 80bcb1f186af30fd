/** Charts as data. Pages draw the charts; a terminal prints one line for each chart. */
import type { Unit } from '../../core/format.ts';
import type { Severity, Verdict } from '../../core/model.ts';

export interface TrendPoint {
  readonly at: Date;
  readonly value: number;
  /** Lower bound of the 95 % CI; null if there is no interval. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface TrendSeries {
  readonly name: string;
  readonly points: readonly TrendPoint[];
}

export type TrendMarkKind = 'deployment' | 'onset' | 'notification' | 'resolved';

export interface TrendMark {
  readonly at: Date;
  readonly text: string;
  /** Default: `deployment`. */
  readonly kind?: TrendMarkKind;
}

export interface TrendLevel {
  readonly value: number;
  readonly text: string;
  /** Severity of the check that fails when the line is crossed; null for a visual guide. */
  readonly severity: Severity | null;
}

/** Normal range of the measure; a bound is null if that side has no limit. */
export interface NormalRange {
  readonly low: number | null;
  readonly high: number | null;
  /** Label, such as `normal on Mondays`. */
  readonly text: string;
}

/** A measure over time with its confidence band, thresholds, and events that may explain a change. */
export interface TrendChart {
  readonly kind: 'trend';
  /** Prefix of element ids; unique within a page. */
  readonly id: string;
  readonly title: string;
  /** Series of the chart, at most four. */
  readonly series: readonly TrendSeries[];
  /** Vertical lines, oldest first. The lines are numbered, and their texts are listed below the chart. */
  readonly marks?: readonly TrendMark[];
  /** False if another chart with the same axis lists the texts of the marks; default: true. */
  readonly hasMarkList?: boolean;
  readonly levels?: readonly TrendLevel[];
  readonly normal?: NormalRange | null;
  /** Shaded intervals, such as the time of an incident. */
  readonly spans?: readonly VerdictInterval[];
  /** Smallest and largest possible value of the measure; null if unlimited. */
  readonly limits?: readonly [number | null, number | null];
  /**
   * True for a logarithmic scale, for values that cover several powers of ten. Values of 0 or less are drawn at the
   * lower edge.
   */
  readonly isLog?: boolean;
  readonly unit: Unit;
  /** Text shown if no series has any points. */
  readonly empty: string;
  /**
   * Start of the time axis. By default, the axis covers the time range of the page; if all points are at the end of
   * this range, the axis starts later. Charts with the same axis share a cursor.
   */
  readonly from?: Date;
  readonly until?: Date;
  /** Size of the chart; default: `full`. Four `small` charts fit in a row. */
  readonly size?: 'full' | 'small';
}

export interface DistributionChart {
  readonly kind: 'distribution';
  readonly id: string;
  readonly title: string;
  /** The two distributions; null if there are no values yet (`empty` states the reason). */
  readonly distributions: Distributions | null;
  readonly empty: string;
}

export interface Distributions {
  /** Edges of the bins, one more than there are bins. */
  readonly edges: readonly number[];
  /** Share of each bin; the shares sum to 1. Null if there are no values. */
  readonly baseline: readonly number[] | null;
  readonly current: readonly number[] | null;
}

export interface PartsChart {
  readonly kind: 'parts';
  readonly id: string;
  readonly title: string;
  readonly parts: readonly { readonly name: string; readonly share: number; readonly tone: string }[];
}

/** Verdicts of checks over time, with one strip per check; a worse verdict is drawn higher. */
export interface StripsChart {
  readonly kind: 'strips';
  readonly strips: readonly { readonly label: string; readonly intervals: readonly VerdictInterval[] }[];
  /** Deployments, which are drawn in a separate lane. */
  readonly marks?: readonly TrendMark[];
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

/** If the points cover a smaller share of the time range than this, the axis starts later. */
const MIN_SHARE = 1 / 8;
const MIN_SPAN_MS = 10 * 60_000;

/**
 * Returns the start of the time axis. If all points are at the very end of the range, as is the case shortly after
 * installation, the axis starts later than `from`. The points then fill the second half of the axis.
 */
export function shownFrom(from: Date, until: Date, points: readonly { readonly at: Date }[]): Date {
  const first = Math.min(...points.map(({ at }) => at.getTime()));
  const measured = until.getTime() - first;
  if (points.length === 0 || measured >= MIN_SHARE * (until.getTime() - from.getTime())) return from;
  return new Date(Math.max(from.getTime(), until.getTime() - Math.max(2 * measured, MIN_SPAN_MS)));
}
