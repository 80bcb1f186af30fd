import { scaleLinear } from 'd3-scale';
import { curveStepAfter, line } from 'd3-shape';
import { compact, percentage } from '../../../core/format.ts';
import type { DistributionChart, Distributions } from '../../model/charts.ts';
import { Plot, percent, Stretched } from './plot.tsx';
import { PLOT_WIDTH, plotSizes, round } from './trend-geometry.ts';

export function DistributionFigure({ chart }: { readonly chart: DistributionChart }) {
  const { id, title, distributions, empty } = chart;
  if (distributions === null)
    return (
      <figure id={id} class="chart">
        <figcaption>{title}</figcaption>
        <p class="chart-empty">{empty}</p>
      </figure>
    );
  const { edges, baseline, current } = distributions;
  const { height, top, bottom } = plotSizes.full;
  const maximum = Math.max(...(baseline ?? []), ...(current ?? []), 0.01);
  const x = scaleLinear([edges[0] ?? 0, edges.at(-1) ?? 1], [0, PLOT_WIDTH]);
  const y = scaleLinear([0, maximum], [height - bottom, top]).nice(4);
  const outline = line<number>(
    (_, index) => round(x(edges[index] ?? 0)),
    (share) => round(y(share)),
  ).curve(curveStepAfter);
  return (
    <figure id={id} class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {current === null ? null : <span class="key s1">now</span>}
          {baseline === null ? null : <span class="key s2">baseline</span>}
        </span>
      </figcaption>
      <Plot
        label={describe(title, distributions)}
        size={plotSizes.full}
        yTicks={y.ticks(4).map((tick) => ({ place: round(y(tick)), text: percentage(tick) }))}
        xTicks={x.ticks(6).map((tick) => ({ place: x(tick), text: compact(tick) }))}
        axis={null}
      >
        <g class="bars s1">
          {(current ?? []).map((share, index) => {
            const [start, end] = [x(edges[index] ?? 0), x(edges[index + 1] ?? 0)];
            return share === 0 ? null : (
              <rect
                key={edges[index]}
                x={percent(start + 1)}
                y={round(y(share))}
                width={percent(Math.max(1, end - start - 2))}
                height={round(height - bottom - y(share))}
              >
                <title>{`${compact(edges[index] ?? 0)} to ${compact(edges[index + 1] ?? 0)}: ${percentage(share)}`}</title>
              </rect>
            );
          })}
        </g>
        {baseline === null ? null : (
          <Stretched height={height}>
            <g class="series s2">
              <path class="line" d={outline([...baseline, baseline.at(-1) ?? 0]) ?? ''} />
            </g>
          </Stretched>
        )}
      </Plot>
    </figure>
  );
}

function describe(title: string, { edges, baseline, current }: Distributions): string {
  const median = (shares: readonly number[]): number => {
    let sum = 0;
    const index = shares.findIndex((share) => (sum += share) >= 0.5);
    return edges[Math.max(0, index)] ?? 0;
  };
  const parts = [
    ...(current === null ? [] : [`now, median about ${compact(median(current))}`]),
    ...(baseline === null ? [] : [`baseline, median about ${compact(median(baseline))}`]),
  ];
  return `${title}: ${parts.join('; ')}.`;
}

/**
 * Computes the share of values in each bin, for two sets of values over common bins; null if there are no values.
 *
 * @param baseline in ascending order
 * @param current weights of bins of equal width; the bins together cover the range of the baseline
 * @param bins number of bins if `current` is null
 */
export function distributions(
  baseline: ArrayLike<number> | null,
  current: { readonly low: number; readonly high: number; readonly weights: readonly number[] } | null,
  bins: number,
): Distributions | null {
  const low = current?.low ?? baseline?.[0];
  const high = current?.high ?? baseline?.[baseline.length - 1];
  if (low === undefined || high === undefined) return null;
  const count = current?.weights.length ?? bins;
  const width = (high - low) / count;
  const edges = Array.from({ length: count + 1 }, (_, index) => low + index * width);
  return {
    edges,
    baseline: baseline === null || baseline.length === 0 ? null : sharesOf(binned(baseline, low, width, count)),
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
