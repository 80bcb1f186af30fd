/** Draws a measure over time as a line in a table cell, on top of the measure's normal range. */
import { scaleLinear, scaleUtc } from 'd3-scale';
import { line } from 'd3-shape';
import type { TrendPoint } from '../../model/charts.ts';
import type { ContentNode } from '../../model/content.ts';
import { round, thinned } from './trend-geometry.ts';

/** Size in pixels. */
const WIDTH = 96;
const HEIGHT = 22;

export function Sparkline({ points, normal }: Extract<ContentNode, { kind: 'sparkline' }>) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const values = [...points.map(({ value }) => value), normal?.low ?? last.value, normal?.high ?? last.value];
  const [minimum, maximum] = [Math.min(...values), Math.max(...values)];
  const x = scaleUtc([first.at, last.at], [2, WIDTH - 3]);
  const y = scaleLinear(minimum === maximum ? [minimum - 1, minimum + 1] : [minimum, maximum], [HEIGHT - 3, 3]);
  const path = line<TrendPoint>(
    ({ at }) => round(x(at)),
    ({ value }) => round(y(value)),
  )([...thinned(points, first.at, last.at, 'small')]);
  const [top, bottom] = [y(normal?.high ?? maximum), y(normal?.low ?? minimum)];
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      {normal === null ? null : (
        <rect class="normal" x={0} y={round(top)} width={WIDTH} height={round(Math.max(1, bottom - top))} />
      )}
      <path d={path ?? ''} />
      <circle cx={x(last.at)} cy={round(y(last.value))} r="2" />
    </svg>
  );
}
