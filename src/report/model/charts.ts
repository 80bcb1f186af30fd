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

/** What happened at one time; it decides how the line is drawn. */
export type TrendMarkKind = 'deployment' | 'onset' | 'notification' | 'resolved';

export interface TrendMark {
  readonly at: Date;
  readonly text: string;
  /** `deployment` unless given. */
  readonly kind?: TrendMarkKind;
}

export interface TrendLevel {
  readonly value: number;
  readonly text: string;
  /** True if crossing it makes a check fail; false for a visual guide. */
  readonly isThreshold: boolean;
}

/** Values that are usual for the measure; null where there is no limit. */
export interface NormalRange {
  readonly low: number | null;
  readonly high: number | null;
  /** Such as `normal on Mondays`. */
  readonly text: string;
}

/** A measure over time with its confidence band, thresholds, and events that may explain a change. */
export interface TrendChart {
  readonly kind: 'trend';
  /** Prefix of element ids; unique within a page. */
  readonly id: string;
  readonly title: string;
  /** At most four. */
  readonly series: readonly TrendSeries[];
  /** Vertical lines, oldest first. They are numbered, and their texts are listed below the chart. */
  readonly marks?: readonly TrendMark[];
  /** False where another chart with the same axis lists the texts of the marks. */
  readonly hasMarkList?: boolean;
  readonly levels?: readonly TrendLevel[];
  /** Shaded behind the lines. */
  readonly normal?: NormalRange | null;
  /** Shaded intervals, such as that of an incident. */
  readonly spans?: readonly VerdictInterval[];
  readonly limits?: readonly [number | null, number | null];
  /** For values over several powers of ten. Values that are not positive are drawn at the lower edge. */
  readonly isLog?: boolean;
  readonly unit: Unit;
  /** Text shown when no series has a point. */
  readonly empty: string;
  /**
   * Time axis; the time range of the page unless given. Charts with the same axis have a common cursor. An axis that is not
   * given is shortened if all points are at its very end.
   */
  readonly from?: Date;
  readonly until?: Date;
  /** Default: `full`. Four `small` charts fit in a row. */
  readonly size?: 'full' | 'small';
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
  /** Deployments, in a lane of their own. */
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

/** If points cover less than this share of the time range, the axis is shortened. */
const MIN_SHARE = 1 / 8;
const MIN_SPAN_MS = 10 * 60_000;

/**
 * Start of the time axis: the start of the range, unless all points are at its very end, as shortly after the installation.
 * Then the axis starts later, so that the points fill its second half.
 */
export function shownFrom(from: Date, until: Date, points: readonly { readonly at: Date }[]): Date {
  const first = Math.min(...points.map(({ at }) => at.getTime()));
  const measured = until.getTime() - first;
  if (points.length === 0 || measured >= MIN_SHARE * (until.getTime() - from.getTime())) return from;
  return new Date(Math.max(from.getTime(), until.getTime() - Math.max(2 * measured, MIN_SPAN_MS)));
}
