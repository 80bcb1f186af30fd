/** Draws a measure over time with its confidence band, normal range, thresholds and events, and the table of its values. */
import { formatBounded, formatValue, minute, type Unit } from '../../../core/format.ts';
import type { TimeSpan } from '../../../core/time.ts';
import { shownFrom, type TrendChart, type TrendMark, type TrendSeries } from '../../model/charts.ts';
import { Plot, percent, Stretched } from './plot.tsx';
import { markNumbers, type PlotSize, plotSizes, thinned, trendGeometry } from './trend-geometry.ts';

/** Maximum number of points in a series with large dots; the line between so few points is barely visible. */
const FEW_DOTS = 3;
/** Maximum number of points that all get a dot; with more points, only the last point gets a dot. */
const maxDots = { full: 60, small: FEW_DOTS } as const;

/** @param page the time range of the page */
export function TrendFigure({ chart, ...page }: TimeSpan & { readonly chart: TrendChart }) {
  const { title, levels = [], normal = null, spans = [], unit, size = 'full' } = chart;
  const until = chart.until ?? page.until;
  const all = chart.series.flatMap(({ points }) => points);
  const from = chart.from ?? shownFrom(page.from, until, all);
  const series = chart.series.map((one) => ({ ...one, points: thinned(one.points, from, until, size) }));
  const isEmpty = series.every(({ points }) => points.length === 0);
  const head = (
    <figcaption>
      <span>
        {title}
        {chart.from === undefined && from > page.from ? (
          <span class="of"> no data before {minute(new Date(Math.min(...all.map(({ at }) => at.getTime()))))}</span>
        ) : null}
      </span>
      {isEmpty ? null : <Latest series={series} unit={unit} />}
      {isEmpty || levels.length === 0 ? null : (
        <span class="levels">
          {levels.map(({ text, severity }) => (
            <span key={text} class={`level-key ${severity ?? ''}`}>
              {text}
            </span>
          ))}
        </span>
      )}
    </figcaption>
  );
  if (isEmpty)
    return (
      <figure id={chart.id} class={`chart ${size}`}>
        {head}
        <p class="chart-empty">{chart.empty}</p>
      </figure>
    );
  const marks = (chart.marks ?? []).filter(({ at }) => at >= from && at <= until);
  const plot = plotSizes[size];
  const drawn = series.map(({ points }) => points);
  const { x, y, yTicks, xTicks, paths, normalRange } = trendGeometry(chart, drawn, from, until, plot);
  return (
    <figure id={chart.id} class={`chart ${size}`}>
      {head}
      <Plot
        label={describe(title, series, unit)}
        size={plot}
        yTicks={yTicks.map((tick) => ({
          place: y(tick),
          text: chart.isLog === true && tick >= POWER ? power(tick) : formatValue(tick, unit),
        }))}
        xTicks={xTicks.map(({ at, text }) => ({ place: x(at), text }))}
        axis={{ from, until }}
        values={<Values title={title} series={series} unit={unit} />}
      >
        {spans.map(({ verdict, ...span }) => {
          const [start, end] = [Math.max(0, x(span.from)), Math.min(1000, x(span.until))];
          return end <= start ? null : (
            <rect
              key={span.from.getTime()}
              class={`span ${verdict}`}
              x={percent(start)}
              y={plot.top}
              width={percent(end - start)}
              height={plot.height - plot.bottom - plot.top}
            />
          );
        })}
        {normal === null ? null : (
          <rect class="normal" x="0" y={normalRange.y} width="100%" height={normalRange.height}>
            <title>{normal.text}</title>
          </rect>
        )}
        <Stretched height={plot.height}>
          {paths.map((path, index) => (
            <g key={index} class={`series s${index + 1}`}>
              <path class="band" d={path.band} />
              <path class="line" d={path.line} />
            </g>
          ))}
        </Stretched>
        {series.map(({ name, points }, index) => (
          <g key={name} class={`s${index + 1}`}>
            {points
              .filter((point) => points.length <= maxDots[size] || point === points.at(-1))
              .map((point) => (
                <circle
                  key={point.at.getTime()}
                  cx={percent(x(point.at))}
                  cy={y(point.value)}
                  r={points.length <= FEW_DOTS ? 4 : 2.5}
                />
              ))}
          </g>
        ))}
        {levels.map(({ value, text, severity }) => (
          <line key={text} class={`level ${severity ?? ''}`} x1="0" x2="100%" y1={y(value)} y2={y(value)} />
        ))}
        {marksOf(marks, x, plot)}
      </Plot>
      {marks.length === 0 || size === 'small' || chart.hasMarkList === false ? null : <MarkList marks={marks} />}
    </figure>
  );
}

function marksOf(marks: readonly TrendMark[], x: (at: Date) => number, { top, height, bottom }: PlotSize) {
  return (
    <g>
      {marks.map(({ at, text, kind = 'deployment' }) => (
        <line
          key={`${at.getTime()}${text}`}
          class={`mark ${kind}`}
          x1={percent(x(at))}
          x2={percent(x(at))}
          y1={top}
          y2={height - bottom}
        />
      ))}
      {markNumbers(marks.map(({ at }) => x(at))).map(({ text, place }) => (
        <text key={text} class="mark-number" x={percent(place)} y={top - 6} text-anchor="middle">
          {text}
        </text>
      ))}
    </g>
  );
}

/** Smallest value that is written as a power of ten on a log axis. */
const POWER = 1e5;

function power(value: number): string {
  const digits = '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079';
  return `10${String(Math.round(Math.log10(value))).replaceAll(/\d/g, (digit) => digits[Number(digit)] ?? '')}`;
}

export function MarkList({ marks }: { readonly marks: readonly TrendMark[] }) {
  return (
    <ol class="marks">
      {marks.map(({ at, text, kind = 'deployment' }) => (
        <li key={`${at.toISOString()}${text}`} class={kind}>
          {text}, {minute(at)}
        </li>
      ))}
    </ol>
  );
}

/** Shows the latest value of each series or, while the chart has a cursor, the values under the cursor (pages.js). */
function Latest({ series, unit }: Pick<TrendChart, 'series' | 'unit'>) {
  return (
    <span class="legend">
      {series.map(({ name, points }, index) => {
        const last = points.at(-1);
        return (
          <span key={name} class={series.length > 1 ? `key s${index + 1}` : undefined}>
            {series.length > 1 ? `${name} ` : null}
            <strong>{last === undefined ? 'no data' : formatValue(last.value, unit)}</strong>
          </span>
        );
      })}
      <span class="under-cursor" />
    </span>
  );
}

/** Table of the values, used by screen readers and by the script of the page. */
function Values({ title, series, unit }: Parameters<typeof Latest>[0] & { readonly title: string }) {
  const times = [...new Set(series.flatMap(({ points }) => points.map(({ at }) => at.getTime())))].toSorted(
    (a, b) => a - b,
  );
  const byTime = series.map(({ points }) => new Map(points.map((point) => [point.at.getTime(), point])));
  return (
    <details class="values">
      <summary aria-label={`Values of ${title}`}>Values</summary>
      <div class="table-frame" role="region" aria-label={`Values of ${title}`} tabIndex={0}>
        <table class="compact">
          <thead>
            <tr>
              <th scope="col">Time (UTC)</th>
              {series.map(({ name }) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((at) => (
              <tr key={at} data-at={at}>
                <th scope="row">{minute(new Date(at))}</th>
                {byTime.map((points, index) => {
                  const point = points.get(at);
                  return (
                    <td key={index} class="number">
                      {point === undefined ? '' : formatBounded(point, unit)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function describe(title: string, series: readonly TrendSeries[], unit: Unit): string {
  const show = (value: number) => formatValue(value, unit);
  const parts = series.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    if (first === undefined || last === undefined) return `${name}: no value`;
    const values = points.map(({ value }) => value);
    return `${name}: first ${show(first.value)}, last ${show(last.value)}, minimum ${show(Math.min(...values))}, maximum ${show(Math.max(...values))}`;
  });
  return `${title}. ${parts.join('. ')}.`;
}
