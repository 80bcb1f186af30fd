/** Two distributions over each other: that of the reference as a line, that of now as bars. */
import { scaleLinear } from 'd3-scale';
import { curveStepAfter, line } from 'd3-shape';
import { compact, percentage } from '../../../core/format.ts';
import type { DistributionChart, Distributions } from '../../model/charts.ts';
import { chartSize } from './trend-chart.tsx';

export function DistributionFigure({ chart }: { readonly chart: DistributionChart }) {
  const { id, title, distributions, empty } = chart;
  if (distributions === null)
    return (
      <figure class="chart">
        <figcaption>{title}</figcaption>
        <p class="chart-empty">{empty}</p>
      </figure>
    );
  const { edges, reference, current } = distributions;
  const { width, height, left, right, top, bottom } = chartSize;
  const most = Math.max(...(reference ?? []), ...(current ?? []), 0.01);
  const x = scaleLinear([edges[0] ?? 0, edges.at(-1) ?? 1], [left, width - right]);
  const y = scaleLinear([0, most], [height - bottom, top]).nice(4);
  const outline = line<number>(
    (_, index) => round(x(edges[index] ?? 0)),
    (share) => round(y(share)),
  ).curve(curveStepAfter);
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {current === null ? null : <span class="key s1">now</span>}
          {reference === null ? null : <span class="key s2">reference</span>}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={`${id}-title`}>
        <title id={`${id}-title`}>{describe(title, distributions)}</title>
        <g class="grid">
          {y.ticks(4).map((tick) => (
            <g key={tick}>
              <line x1={left} x2={width - right} y1={round(y(tick))} y2={round(y(tick))} />
              <text x={left - 8} y={round(y(tick)) + 4} text-anchor="end">
                {percentage(tick)}
              </text>
            </g>
          ))}
          {x.ticks(6).map((tick, index) => (
            <text
              key={tick}
              class={index % 2 === 1 ? 'fine' : undefined}
              x={round(x(tick))}
              y={height - 6}
              text-anchor="middle"
            >
              {compact(tick)}
            </text>
          ))}
        </g>
        <g class="bars s1">
          {(current ?? []).map((share, index) => {
            const [start, end] = [x(edges[index] ?? 0), x(edges[index + 1] ?? 0)];
            return share === 0 ? null : (
              <rect
                key={edges[index]}
                x={round(start + 0.5)}
                y={round(y(share))}
                width={Math.max(1, round(end - start - 1))}
                height={round(height - bottom - y(share))}
              >
                <title>{`${compact(edges[index] ?? 0)} to ${compact(edges[index + 1] ?? 0)}: ${percentage(share)}`}</title>
              </rect>
            );
          })}
        </g>
        {reference === null ? null : (
          <g class="series s2">
            <path class="line" d={outline([...reference, reference.at(-1) ?? 0]) ?? ''} />
          </g>
        )}
      </svg>
    </figure>
  );
}

function describe(title: string, { edges, reference, current }: Distributions): string {
  const median = (shares: readonly number[]): number => {
    let sum = 0;
    const index = shares.findIndex((share) => (sum += share) >= 0.5);
    return edges[Math.max(0, index)] ?? 0;
  };
  const told = [
    ...(current === null ? [] : [`now, median about ${compact(median(current))}`]),
    ...(reference === null ? [] : [`reference, median about ${compact(median(reference))}`]),
  ];
  return `${title}: ${told.join('; ')}.`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

// Shares of two sets of values over common bins. No markup.

interface Weighted {
  readonly low: number;
  readonly high: number;
  readonly weights: readonly number[];
}

/**
 * @param reference ascending; null where there is none
 * @param current in bins of one width that hold the reference too; null where there is none
 * @param bins taken when there is no `current`
 */
export function distributions(
  reference: ArrayLike<number> | null,
  current: Weighted | null,
  bins: number,
): Distributions | null {
  const low = current?.low ?? reference?.[0];
  const high = current?.high ?? reference?.[reference.length - 1];
  if (low === undefined || high === undefined) return null;
  const count = current?.weights.length ?? bins;
  const width = (high - low) / count;
  const edges = Array.from({ length: count + 1 }, (_, index) => low + index * width);
  return {
    edges,
    reference: reference === null || reference.length === 0 ? null : sharesOf(binned(reference, low, width, count)),
    current: current === null ? null : sharesOf(current.weights),
  };
}

function binned(values: ArrayLike<number>, low: number, width: number, count: number): number[] {
  const bins = Array.from({ length: count }, () => 0);
  for (let index = 0; index < values.length; index += 1) {
    const bin = width === 0 ? 0 : Math.floor(((values[index] ?? 0) - low) / width);
    const place = Math.max(0, Math.min(count - 1, bin));
    bins[place] = (bins[place] ?? 0) + 1;
  }
  return bins;
}

function sharesOf(weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => (total === 0 ? 0 : weight / total));
}
