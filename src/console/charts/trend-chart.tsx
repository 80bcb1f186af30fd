/** A measure over time with its confidence band, thresholds, and the deployments that may explain it. */
import { minute, second, withoutZeros } from '../format.ts';
import { chartSize, type TrendPoint, trendGeometry } from './trend.ts';

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
  readonly isAlarm: boolean;
}

interface TrendChartProps {
  /** Of the elements that name it; unique within a page. */
  readonly id: string;
  readonly title: string;
  readonly from: Date;
  readonly until: Date;
  /** At most four. */
  readonly series: readonly TrendSeries[];
  readonly marks?: readonly TrendMark[];
  readonly levels?: readonly TrendLevel[];
  readonly limits?: readonly [number | null, number | null];
  readonly show: (value: number) => string;
  /** What is said where there is nothing to draw. */
  readonly empty: string;
}

/** More would hide the line; those beyond are small, and still say their value. */
const MOST_DOTS = 60;

export function TrendChart(props: TrendChartProps) {
  const { id, title, from, until, series, levels = [], limits = [null, null], show, empty } = props;
  if (series.every(({ points }) => points.length === 0)) {
    return (
      <figure class="chart">
        <figcaption>{title}</figcaption>
        <p class="chart-empty">{empty}</p>
      </figure>
    );
  }
  const marks = (props.marks ?? []).filter(({ at }) => at >= from && at <= until);
  const geometry = trendGeometry({
    from,
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
        {series.length > 1 ? <Legend series={series} /> : null}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={`${id}-title`}>
        <title id={`${id}-title`}>{describe(title, series, show)}</title>
        <g class="grid">
          {yTicks.map((tick) => (
            <g key={tick}>
              <line x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} />
              <text x={left - 8} y={y(tick) + 4} text-anchor="end">
                {withoutZeros(show(tick))}
              </text>
            </g>
          ))}
          {xTicks.map(({ at, text }, index) => (
            <text
              key={text}
              class={index % 2 === 1 ? 'fine' : undefined}
              x={x(at)}
              y={height - 6}
              text-anchor="middle"
            >
              {text}
            </text>
          ))}
        </g>
        {levels.map(({ value, text, isAlarm }) => (
          <g key={text} class={isAlarm ? 'level alarming' : 'level'}>
            <line x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
            <text x={left + 4} y={y(value) - 5}>
              {text}
            </text>
          </g>
        ))}
        {marks.map(({ at, text }, index) => (
          <g key={`${at.toISOString()}${text}`} class="deployed">
            <line x1={x(at)} x2={x(at)} y1={top} y2={height - bottom} />
            <text x={x(at)} y={top - 6} text-anchor="middle">
              {index + 1}
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
                r={
                  point === series[index]?.points.at(-1) || (series[index]?.points.length ?? 0) <= MOST_DOTS
                    ? 2.5
                    : 1
                }
              >
                <title>{describePoint(point, show)}</title>
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

function describePoint({ at, value, low, high }: TrendPoint, show: (value: number) => string): string {
  const bounds = low === null || high === null ? '' : ` (${show(low)} to ${show(high)})`;
  return `${second(at)}: ${show(value)}${bounds}`;
}

/** What the picture shows, for those who do not see it. */
function describe(title: string, series: readonly TrendSeries[], show: (value: number) => string): string {
  const parts = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    if (first === undefined || last === undefined) return `${name}: no value`;
    const values = points.map(({ value }) => value);
    return `${name}: ${points.length} values, first ${show(first.value)}, last ${show(last.value)}, least ${show(Math.min(...values))}, greatest ${show(Math.max(...values))}`;
  });
  return `${title}. ${parts.join('. ')}.`;
}
