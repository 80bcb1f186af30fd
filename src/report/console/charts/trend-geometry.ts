/** Scales, ticks and SVG paths of a chart over time. */
import { scaleLinear, scaleLog, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import type { TrendChart, TrendPoint } from '../../model/charts.ts';

/** Dimensions of a plot, in pixels. */
export interface PlotSize {
  readonly height: number;
  /** Height of the space for mark numbers. */
  readonly top: number;
  /** Height of the space for times. */
  readonly bottom: number;
  readonly yTicks: number;
  readonly xTicks: number;
}

export const plotSizes = {
  full: { height: 208, top: 20, bottom: 24, yTicks: 4, xTicks: 6 },
  small: { height: 112, top: 16, bottom: 20, yTicks: 2, xTicks: 3 },
} as const satisfies Record<string, PlotSize>;

/** Width of a plot, in units that scale with the width of its container. Font sizes and heights are in pixels. */
export const PLOT_WIDTH = 1000;

const maxPoints = { full: 160, small: 40 } as const;

/**
 * Returns the lowest and highest points in each time bucket, so that no spike is lost.
 *
 * @param points oldest first
 */
export function thinned(
  points: readonly TrendPoint[],
  from: Date,
  until: Date,
  size: keyof typeof maxPoints = 'full',
): readonly TrendPoint[] {
  if (points.length <= maxPoints[size]) return points;
  const buckets = maxPoints[size] / 2;
  const width = (until.getTime() - from.getTime()) / buckets;
  const extremes = new Map<number, { readonly low: TrendPoint; readonly high: TrendPoint }>();
  for (const point of points) {
    const bucket = Math.min(buckets - 1, Math.max(0, Math.floor((point.at.getTime() - from.getTime()) / width)));
    const { low, high } = extremes.get(bucket) ?? { low: point, high: point };
    extremes.set(bucket, {
      low: point.value < low.value ? point : low,
      high: point.value > high.value ? point : high,
    });
  }
  return [...extremes.values()].flatMap(({ low, high }) => {
    if (low === high) return [low];
    return low.at < high.at ? [low, high] : [high, low];
  });
}

/** @param series points of each series, as `thinned` returns them */
export function trendGeometry(
  {
    levels = [],
    normal = null,
    limits = [null, null],
    isLog = false,
  }: Pick<TrendChart, 'levels' | 'normal' | 'limits' | 'isLog'>,
  series: readonly (readonly TrendPoint[])[],
  from: Date,
  until: Date,
  { height, top, bottom, yTicks, xTicks }: PlotSize,
) {
  const included = [...levels.map(({ value }) => value), normal?.low ?? [], normal?.high ?? []].flat();
  const xScale = scaleUtc([from, until], [0, PLOT_WIDTH]);
  const yRange = [height - bottom, top];
  const yScale = isLog
    ? scaleLog(logExtent(series, included), yRange).clamp(true)
    : scaleLinear(extent(series, included, limits), yRange).nice(yTicks);
  const x = (at: Date): number => round(xScale(at));
  const y = (value: number): number => round(yScale(value));
  const normalTop = normal?.high == null ? top : y(normal.high);
  const normalBottom = normal?.low == null ? height - bottom : y(normal.low);
  return {
    x,
    y,
    normalRange: { y: normalTop, height: Math.max(1, normalBottom - normalTop) },
    yTicks: isLog ? powersOfTen(yScale.domain(), yTicks) : yScale.ticks(yTicks),
    xTicks: xScale.ticks(xTicks).map((at) => ({ at, text: tickText(at) })),
    paths: series.map((points) => pathsOf(points, x, y)),
  };
}

function logExtent(series: readonly (readonly TrendPoint[])[], included: readonly number[]): [number, number] {
  const positive = [...included, ...series.flat().map(({ value }) => value)].filter((value) => value > 0);
  const low = 10 ** Math.floor(Math.log10(Math.min(1, ...positive)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(10, ...positive)));
  return [low, high];
}

function powersOfTen([low = 1, high = 10]: number[], most: number): number[] {
  const [first, last] = [Math.round(Math.log10(low)), Math.round(Math.log10(high))];
  const step = Math.ceil((last - first) / most);
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => 10 ** (first + index * step));
}

function pathsOf(points: readonly TrendPoint[], x: (at: Date) => number, y: (value: number) => number) {
  const runs = joined(points);
  const toLine = line<TrendPoint>(
    ({ at }) => x(at),
    ({ value }) => y(value),
  );
  const toBand = area<TrendPoint>(
    ({ at }) => x(at),
    ({ low, value }) => y(low ?? value),
    ({ high, value }) => y(high ?? value),
  );
  const path = (make: (run: TrendPoint[]) => string | null): string => runs.map((run) => make([...run]) ?? '').join('');
  return { line: path(toLine), band: path(toBand) };
}

/** Returns the label of a tick: the date for a tick at midnight, the time for any other tick. */
export function tickText(at: Date): string {
  const [date = '', time = ''] = at.toISOString().split('T');
  return time.startsWith('00:00') ? date.slice(5) : time.slice(0, 5);
}

/** Two points are not joined if the time between them is more than this multiple of the median time between points. */
const GAP = 4;

/** Splits points at gaps in time. */
function joined(points: readonly TrendPoint[]): TrendPoint[][] {
  const steps = points.slice(1).map(({ at }, index) => at.getTime() - (points[index]?.at.getTime() ?? 0));
  const median = steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const runs: TrendPoint[][] = [];
  for (const [index, point] of points.entries()) {
    const last = runs.at(-1);
    if (last === undefined || (steps[index - 1] ?? 0) > GAP * median) runs.push([point]);
    else last.push(point);
  }
  return runs;
}

function extent(
  series: readonly (readonly TrendPoint[])[],
  included: readonly number[],
  [minimum, maximum]: NonNullable<TrendChart['limits']>,
): [number, number] {
  const values = [
    ...included,
    ...series.flat().flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]),
  ];
  if (values.length === 0) return [minimum ?? 0, maximum ?? 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low) * 0.12 || Math.max(Math.abs(high) * 0.05, 0.01);
  return [
    minimum === null ? low - room : Math.max(minimum, low - room),
    maximum === null ? high + room : Math.min(maximum, high + room),
  ];
}

/** Minimum distance, in units of the plot, at which the numbers of two marks do not overlap on a narrow screen. */
const MARK_ROOM = 80;

/**
 * Returns the labels of marks numbered from 1, and the position of each label. Labels that would overlap become one
 * range such as `2-4`, centered over its marks.
 *
 * @param places positions of the marks, in ascending order
 */
export function markNumbers(places: readonly number[]): { readonly text: string; readonly place: number }[] {
  const groups: { readonly first: number; last: number }[] = [];
  for (const [index, place] of places.entries()) {
    const group = groups.at(-1);
    if (group !== undefined && place - (places[group.last] ?? 0) < MARK_ROOM) group.last = index;
    else groups.push({ first: index, last: index });
  }
  return groups.map(({ first, last }) => ({
    text: first === last ? `${first + 1}` : `${first + 1}\u2013${last + 1}`,
    place: ((places[first] ?? 0) + (places[last] ?? 0)) / 2,
  }));
}

/** Rounds to tenths of a pixel, which keeps pages small. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
