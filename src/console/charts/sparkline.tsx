/** The shape of a measure over time within a line of text; the numbers stand beside it. */
import { scaleLinear, scaleUtc } from 'd3-scale';
import { line } from 'd3-shape';
import type { TrendPoint } from './trend.ts';

const WIDTH = 96;
const HEIGHT = 22;

export function Sparkline({ points }: { readonly points: readonly TrendPoint[] }) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2) return null;
  const values = points.map(({ value }) => value);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const x = scaleUtc([first.at, last.at], [2, WIDTH - 3]);
  const y = scaleLinear(least === greatest ? [least - 1, least + 1] : [least, greatest], [HEIGHT - 3, 3]);
  const path = line<TrendPoint>(
    ({ at }) => Math.round(x(at) * 10) / 10,
    ({ value }) => Math.round(y(value) * 10) / 10,
  )([...points]);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
    >
      <path d={path ?? ''} />
      <circle cx={x(last.at)} cy={y(last.value)} r="2" />
    </svg>
  );
}
