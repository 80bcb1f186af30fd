import { percentage } from '../../../core/format.ts';
import type { PartsChart } from '../../model/charts.ts';
import { percent } from './plot.tsx';

const HEIGHT = 28;
/** Smallest share whose section of the chart is wide enough for a label. */
const MIN_LABELLED = 0.15;

export function PartsFigure({ chart: { id, title, parts } }: { readonly chart: PartsChart }) {
  const starts = parts.map((_, place) => parts.slice(0, place).reduce((sum, { share }) => sum + share, 0));
  return (
    <figure id={id} class="chart">
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
      <svg
        width="100%"
        height={HEIGHT}
        role="img"
        aria-label={parts.map(({ name, share }) => `${name} ${percentage(share)}`).join(', ')}
      >
        {parts.map(({ name, share, tone }, place) => {
          const x = 1000 * (starts[place] ?? 0);
          return (
            <g key={name} class={`bars ${tone}`}>
              <rect x={percent(x)} y={0} width={percent(1000 * share)} height={HEIGHT}>
                <title>{`${name}: ${percentage(share)}`}</title>
              </rect>
              {share < MIN_LABELLED ? null : (
                <text x={percent(x)} dx={8} y={HEIGHT - 9}>
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
