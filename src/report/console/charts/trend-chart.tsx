/** Draws a measure over time with its confidence band, thresholds and deployments. */
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import { formatValue, minute, range, second, type Unit } from '../../../core/format.ts';
import type { TrendChart, TrendPoint, TrendSeries } from '../../model/charts.ts';

/** Size of a sparkline in pixels. */
const WIDTH = 96;
const HEIGHT = 22;

export function Sparkline({ points }: { readonly points: readonly TrendPoint[] }) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const values = points.map(({ value }) => value);
  const [minimum, maximum] = [Math.min(...values), Math.max(...values)];
  const x = scaleUtc([first.at, last.at], [2, WIDTH - 3]);
  const y = scaleLinear(minimum === maximum ? [minimum - 1, minimum + 1] : [minimum, maximum], [HEIGHT - 3, 3]);
  const path = line<TrendPoint>(
    ({ at }) => Math.round(x(at) * 10) / 10,
    ({ value }) => Math.round(y(value) * 10) / 10,
  )([...points]);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path d={path ?? ''} />
      <circle cx={x(last.at)} cy={y(last.value)} r="2" />
    </svg>
  );
}

interface TrendInput {
  readonly from: Date;
  readonly until: Date;
  readonly series: readonly (readonly TrendPoint[])[];
  /** Values that the axis must include, such as thresholds. */
  readonly levels: readonly number[];
  /** Smallest and largest possible value of the measure; null if unlimited. */
  readonly limits: readonly [number | null, number | null];
}

export const chartSize = { width: 640, height: 220, left: 64, right: 14, top: 22, bottom: 26 } as const;

/** Maximum number of points drawn for a series. */
const MAX_POINTS = 192;

/**
 * Returns at most `MAX_POINTS` of the points: the lowest and the highest of each time bucket, so that no spike is lost.
 *
 * @param points oldest first
 */
export function thinned(points: readonly TrendPoint[], from: Date, until: Date): readonly TrendPoint[] {
  if (points.length <= MAX_POINTS) return points;
  const buckets = MAX_POINTS / 2;
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

/** Two points are joined unless they are further apart than this many times the median distance. */
const GAP = 4;

/** Computes the scales, ticks and SVG paths of a chart. */
export function trendGeometry({ from, until, series, levels, limits }: TrendInput) {
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
  const path = (make: (run: TrendPoint[]) => string | null): string => runs.map((run) => make([...run]) ?? '').join('');
  return { line: path(toLine), band: path(toBand) };
}

/** Labels a tick with the day at midnight, else with the time. */
function tickText(at: Date): string {
  const [date = '', time = ''] = at.toISOString().split('T');
  return time.startsWith('00:00') ? date.slice(5) : time.slice(0, 5);
}

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
  series: TrendInput['series'],
  levels: readonly number[],
  [minimum, maximum]: TrendInput['limits'],
): [number, number] {
  const values = [...levels, ...series.flat().flatMap(({ value, low, high }) => [value, low ?? value, high ?? value])];
  if (values.length === 0) return [minimum ?? 0, maximum ?? 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low) * 0.12 || Math.max(Math.abs(high) * 0.05, 0.01);
  return [
    minimum === null ? low - room : Math.max(minimum, low - room),
    maximum === null ? high + room : Math.min(maximum, high + room),
  ];
}

/** If points cover less than this share of the time range, the axis is shortened. */
const MIN_SHARE = 1 / 8;
const MIN_SPAN_MS = 10 * 60_000;

/**
 * Start of the time axis: the start of the range, unless all points are at its very end, as shortly after the installation.
 * Then the axis starts later, so that the points fill its second half.
 */
export function shownFrom(from: Date, until: Date, points: readonly TrendPoint[]): Date {
  const first = Math.min(...points.map(({ at }) => at.getTime()));
  const measured = until.getTime() - first;
  if (points.length === 0 || measured >= MIN_SHARE * (until.getTime() - from.getTime())) return from;
  return new Date(Math.max(from.getTime(), until.getTime() - Math.max(2 * measured, MIN_SPAN_MS)));
}

/** Distance that the numbers above two marks need, including on narrow screens. */
const MARK_ROOM = 40;

/** Groups marks whose numbers would overlap; `first` is the number of the first mark of a group, starting at 1. */
export function markGroups(places: readonly number[]): { readonly first: number; readonly places: number[] }[] {
  const groups: { readonly first: number; readonly places: number[] }[] = [];
  for (const [index, place] of places.entries()) {
    const group = groups.at(-1);
    if (group !== undefined && place - (group.places.at(-1) ?? 0) < MARK_ROOM) group.places.push(place);
    else groups.push({ first: index + 1, places: [place] });
  }
  return groups;
}

/** Rounds to tenths of a pixel, which keeps pages small. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Up to this many points get large dots, since their line is barely visible. */
const FEW_DOTS = 3;
/** Above this number of points, dots are small so that they do not hide the line. */
const MAX_DOTS = 60;

function dotRadius(points: readonly TrendPoint[], point: TrendPoint): number {
  if (points.length <= FEW_DOTS) return 4;
  return points.length <= MAX_DOTS || point === points.at(-1) ? 2.5 : 1;
}

export function TrendFigure({
  chart,
  from,
  until,
}: {
  readonly chart: TrendChart;
  readonly from: Date;
  readonly until: Date;
}) {
  const { id, title, levels = [], limits = [null, null], unit, empty } = chart;
  const series = chart.series.map((one) => ({ ...one, points: thinned(one.points, from, until) }));
  if (series.every(({ points }) => points.length === 0)) {
    return (
      <figure class="chart">
        <figcaption>{title}</figcaption>
        <p class="chart-empty">{empty}</p>
      </figure>
    );
  }
  const start = shownFrom(
    from,
    until,
    series.flatMap(({ points }) => points),
  );
  const marks = (chart.marks ?? []).filter(({ at }) => at >= start && at <= until);
  const geometry = trendGeometry({
    from: start,
    until,
    series: series.map(({ points }) => points),
    levels: levels.map(({ value }) => value),
    limits,
  });
  const { x, y, yTicks, xTicks, paths } = geometry;
  const { width, height, left, right, bottom, top } = chartSize;
  return (
    <figure class="chart">
      <figcaption>
        {title}
        {start > from ? <span class="of">no data before {minute(start)}</span> : null}
        {series.length > 1 ? <Legend series={series} /> : null}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={`${id}-title`}>
        <title id={`${id}-title`}>{describe(title, series, unit)}</title>
        <g class="grid">
          {yTicks.map((tick) => (
            <g key={tick}>
              <line x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} />
              <text x={left - 8} y={y(tick) + 4} text-anchor="end">
                {formatValue(tick, unit)}
              </text>
            </g>
          ))}
          {xTicks.map(({ at, text }, index) => (
            <text key={text} class={index % 2 === 1 ? 'fine' : undefined} x={x(at)} y={height - 6} text-anchor="middle">
              {text}
            </text>
          ))}
        </g>
        {levels.map(({ value, text, isThreshold }) => (
          <g key={text} class={isThreshold ? 'level threshold' : 'level'}>
            <line x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
            <text x={left + 4} y={y(value) - 5}>
              {text}
            </text>
          </g>
        ))}
        {markGroups(marks.map(({ at }) => x(at))).map(({ places, first }) => (
          <g key={first} class="deployed">
            {places.map((place) => (
              <line key={place} x1={place} x2={place} y1={top} y2={height - bottom} />
            ))}
            <text x={round(((places[0] ?? 0) + (places.at(-1) ?? 0)) / 2)} y={top - 6} text-anchor="middle">
              {places.length === 1 ? first : `${first}\u2013${first + places.length - 1}`}
            </text>
          </g>
        ))}
        {paths.map((path, index) => (
          <g key={series[index]?.name} class={`series s${index + 1}`}>
            <path class="band" d={path.band} />
            <path class="line" d={path.line} />
            {series[index]?.points.map((point) => (
              <circle
                key={point.at.getTime()}
                cx={x(point.at)}
                cy={y(point.value)}
                r={dotRadius(series[index]?.points ?? [], point)}
              >
                <title>{describePoint(point, unit)}</title>
              </circle>
            ))}
          </g>
        ))}
      </svg>
      {marks.length === 0 ? null : (
        <ol class="marks">
          {marks.map(({ at, text }) => (
            <li key={`${at.toISOString()}${text}`}>
              {text}, {minute(at)}
            </li>
          ))}
        </ol>
      )}
    </figure>
  );
}

function Legend({ series }: { readonly series: readonly TrendSeries[] }) {
  return (
    <span class="legend">
      {series.map(({ name }, index) => (
        <span key={name} class={`key s${index + 1}`}>
          {name}
        </span>
      ))}
    </span>
  );
}

function describePoint({ at, value, low, high }: TrendPoint, unit: Unit): string {
  const bounds = low === null || high === null ? '' : ` (${range(low, high, unit)})`;
  return `${second(at)}: ${formatValue(value, unit)}${bounds}`;
}

/** Describes the chart for screen readers. */
function describe(title: string, series: readonly TrendSeries[], unit: Unit): string {
  const show = (value: number) => formatValue(value, unit);
  const parts = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    if (first === undefined || last === undefined) return `${name}: no value`;
    const values = points.map(({ value }) => value);
    return `${name}: ${points.length} points, first ${show(first.value)}, last ${show(last.value)}, minimum ${show(Math.min(...values))}, maximum ${show(Math.max(...values))}`;
  });
  return `${title}. ${parts.join('. ')}.`;
}
