/** Draws the parts of a whole as one stacked bar. */
import { percentage } from '../../../core/format.ts';
import type { PartsChart } from '../../model/charts.ts';

const WIDTH = 1000;
const HEIGHT = 28;
/** Smallest share whose label fits into its part. */
const MIN_LABELLED = 0.06;

export function PartsFigure({ chart: { id, title, parts } }: { readonly chart: PartsChart }) {
  const starts = parts.map((_, place) => parts.slice(0, place).reduce((sum, { share }) => sum + share, 0));
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {parts.map(({ name, share, tone }) => (
            <span key={name} class={`key ${tone}`}>
              {name} {percentage(share)}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={id}>
        <title id={id}>{parts.map(({ name, share }) => `${name} ${percentage(share)}`).join(', ')}</title>
        {parts.map(({ name, share, tone }, place) => {
          const x = (starts[place] ?? 0) * WIDTH;
          return (
            <g key={name} class={`bars ${tone}`}>
              <rect x={round(x)} y={0} width={round(share * WIDTH)} height={HEIGHT}>
                <title>{`${name}: ${percentage(share)}`}</title>
              </rect>
              {share < MIN_LABELLED ? null : (
                <text x={round(x + 8)} y={HEIGHT - 9}>
                  {percentage(share)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
