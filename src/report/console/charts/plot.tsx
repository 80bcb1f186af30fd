/**
 * Draws the frame of a chart: a plot as wide as its container. Font sizes are in pixels, so that text is as readable on
 * a phone as on a desktop and is never cut off. Horizontal positions are in thousandths of the width; values are
 * labeled in the left margin.
 */
import type { ComponentChildren } from 'preact';
import { PLOT_WIDTH, type PlotSize } from './trend-geometry.ts';

export interface Tick {
  readonly place: number;
  readonly text: string;
}

/** Maximum label length, in characters, for the narrow margin; longer labels get a wider margin. */
const NARROW_LABEL = 6;
const WIDE_LABEL = 10;
/**
 * Distance from an end of the time axis, in thousandths of the width. Labels within this distance are aligned with that
 * end instead of centered, because there is a link beside the axis.
 */
const EDGE = 40;

interface PlotProps {
  /** Describes the chart for screen readers. */
  readonly label: string;
  readonly size: PlotSize;
  readonly yTicks: readonly Tick[];
  readonly xTicks: readonly Tick[];
  /** Time axis; null for a chart whose axis is not time. Charts with the same axis share a cursor (pages.js). */
  readonly axis: { readonly from: Date; readonly until: Date } | null;
  /** Table of the values, collapsed in the left margin below the axis labels. */
  readonly values?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Plot({ label, size: { height, bottom }, yTicks, xTicks, axis, values = null, children }: PlotProps) {
  const longest = Math.max(0, ...yTicks.map(({ text }) => text.length));
  const margin = longest <= NARROW_LABEL ? '' : longest <= WIDE_LABEL ? ' wide' : ' widest';
  return (
    <div class={`plot${margin}`}>
      <svg
        width="100%"
        height={height}
        role="img"
        aria-label={label}
        data-from={axis?.from.getTime()}
        data-until={axis?.until.getTime()}
      >
        <g class="grid">
          {yTicks.map(({ place, text }) => (
            <g key={place}>
              <line x1="0" x2="100%" y1={place} y2={place} />
              <text x={-8} y={place + 4} text-anchor="end">
                {text}
              </text>
            </g>
          ))}
          {xTicks.map(({ place, text }, index) => (
            <text
              key={place}
              class={index % 2 === 1 ? 'fine' : undefined}
              x={percent(place)}
              y={height - 6}
              text-anchor={place < EDGE ? 'start' : place > PLOT_WIDTH - EDGE ? 'end' : 'middle'}
            >
              {text}
            </text>
          ))}
        </g>
        {children}
        <line class="cursor" y1="0" y2={height - bottom} />
      </svg>
      {values}
    </div>
  );
}

export function Stretched({ height, children }: { readonly height: number; readonly children: ComponentChildren }) {
  return (
    <svg viewBox={`0 0 ${PLOT_WIDTH} ${height}`} preserveAspectRatio="none" width="100%" height={height}>
      {children}
    </svg>
  );
}

export function percent(place: number): string {
  return `${Math.round((1000 * place) / PLOT_WIDTH) / 10}%`;
}
