/** Geometry of a chart over time: points to SVG paths, ticks to places. No markup. */
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';

export interface TrendPoint {
  readonly at: Date;
  readonly value: number;
  /** 95 % bounds; null for what has none. */
  readonly low: number | null;
  readonly high: number | null;
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
  return measured.map(({ windowEnd, value, ciLow, ciHigh }) => ({
    at: windowEnd,
    value,
    low: ciLow,
    high: ciHigh,
  }));
}

export interface TrendInput {
  readonly from: Date;
  readonly until: Date;
  readonly series: readonly (readonly TrendPoint[])[];
  /** Values that must be in sight, such as thresholds. */
  readonly levels: readonly number[];
  /** Least and greatest values that can be. */
  readonly limits: readonly [number | null, number | null];
}

export const chartSize = { width: 640, height: 220, left: 56, right: 14, top: 22, bottom: 26 } as const;

export interface TrendGeometry {
  readonly x: (at: Date) => number;
  readonly y: (value: number) => number;
  readonly yTicks: readonly number[];
  readonly xTicks: readonly { readonly at: Date; readonly text: string }[];
  readonly paths: readonly { readonly line: string; readonly band: string }[];
}

/** Points further apart than this many times the usual distance are not joined: nothing was measured between. */
const GAP = 4;

export function trendGeometry({ from, until, series, levels, limits }: TrendInput): TrendGeometry {
  const { width, height, left, right, top, bottom } = chartSize;
  const xScale = scaleUtc([from, until], [left, width - right]);
  const [low, high] = extent(series, levels, limits);
  const yScale = scaleLinear([low, high], [height - bottom, top]).nice(4);
  const x = (at: Date): number => round(xScale(at));
  const y = (value: number): number => round(yScale(value));
  return {
    x,
    y,
    yTicks: yScale.ticks(4),
    xTicks: xScale.ticks(6).map((at) => ({ at, text: tickText(at) })),
    paths: series.map((points) => pathsOf(points, x, y)),
  };
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
  const path = (make: (run: TrendPoint[]) => string | null): string =>
    runs.map((run) => make([...run]) ?? '').join('');
  return { line: path(toLine), band: path(toBand) };
}

/** The day at midnight, else the time, as long as a tick has room for. */
function tickText(at: Date): string {
  const [date = '', time = ''] = at.toISOString().split('T');
  return time.startsWith('00:00') ? date.slice(5) : time.slice(0, 5);
}

/** Stretches without a hole. */
function joined(points: readonly TrendPoint[]): TrendPoint[][] {
  const steps = points.slice(1).map(({ at }, index) => at.getTime() - (points[index]?.at.getTime() ?? 0));
  const usual = steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const runs: TrendPoint[][] = [];
  for (const [index, point] of points.entries()) {
    const last = runs.at(-1);
    if (last === undefined || (steps[index - 1] ?? 0) > GAP * usual) runs.push([point]);
    else last.push(point);
  }
  return runs;
}

function extent(
  series: TrendInput['series'],
  levels: readonly number[],
  [least, greatest]: TrendInput['limits'],
): [number, number] {
  const values = [
    ...levels,
    ...series.flat().flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]),
  ];
  if (values.length === 0) return [least ?? 0, greatest ?? 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low) * 0.12 || Math.max(Math.abs(high) * 0.05, 0.01);
  return [
    least === null ? low - room : Math.max(least, low - room),
    greatest === null ? high + room : Math.min(greatest, high + room),
  ];
}

/** Tenths of a unit are finer than a screen shows, and keep pages small. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
