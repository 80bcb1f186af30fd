/** Draws the verdicts of checks over time as strips, one below the other, with a lane for events. */
import { scaleUtc } from 'd3-scale';
import type { ComponentChildren } from 'preact';
import { duration, minute } from '../../../core/format.ts';
import type { Verdict } from '../../../core/model.ts';
import type { StripsChart, VerdictInterval } from '../../model/charts.ts';
import { percent } from './plot.tsx';
import { MarkList } from './trend-chart.tsx';
import { PLOT_WIDTH, tickText } from './trend-geometry.ts';

/** Heights in pixels. */
const HEIGHT = 16;
const AXIS_HEIGHT = 18;
/** Minimum width of an interval, in thousandths of the plot's width, so that very short intervals remain visible. */
const MIN_WIDTH = 4;

const heights: Record<Verdict, number> = { ok: 4, warning: 10, critical: HEIGHT, no_data: 7 };

const names: Record<Verdict, string> = { ok: 'OK', warning: 'warning', critical: 'critical', no_data: 'no data' };

export function StripsFigure({ chart: { strips, marks = [], from, until } }: { readonly chart: StripsChart }) {
  const scale = scaleUtc([from, until], [0, PLOT_WIDTH]);
  const axis = { 'data-from': from.getTime(), 'data-until': until.getTime() };
  const shown = marks.filter(({ at }) => at >= from && at <= until);
  const figure = (
    <ul class="strips">
      {strips.map(({ label, intervals }) => (
        <Strip key={label} title={label} label={stripText(label, intervals)} axis={axis}>
          {intervals.map(({ verdict, from: start, until: end }) => (
            <rect
              key={start.getTime()}
              class={verdict}
              x={percent(scale(start))}
              y={HEIGHT - heights[verdict]}
              width={percent(Math.max(MIN_WIDTH, scale(end) - scale(start)))}
              height={heights[verdict]}
            >
              <title>{`${names[verdict]} from ${minute(start)} to ${minute(end)}`}</title>
            </rect>
          ))}
        </Strip>
      ))}
      {shown.length === 0 ? null : (
        <Strip
          title="Deployments"
          label={`Deployments: ${shown.map(({ at, text }) => `${text}, ${minute(at)}`).join('; ')}`}
          axis={axis}
        >
          {shown.map(({ at, text }) => (
            <rect
              key={`${at.getTime()}${text}`}
              class="deployment"
              x={percent(Math.max(0, scale(at) - 3))}
              y="2"
              width="6"
              height={HEIGHT - 2}
            >
              <title>{`${text}, ${minute(at)}`}</title>
            </rect>
          ))}
        </Strip>
      )}
      <li class="strip-axis" aria-hidden="true">
        <span />
        <svg class="strip-times" width="100%" height={AXIS_HEIGHT}>
          {scale.ticks(6).map((at, index) => (
            <text
              key={at.getTime()}
              class={index % 2 === 1 ? 'fine' : undefined}
              x={percent(scale(at))}
              y={AXIS_HEIGHT - 4}
              text-anchor={scale(at) > PLOT_WIDTH - 30 ? 'end' : scale(at) < 30 ? 'start' : 'middle'}
            >
              {tickText(at)}
            </text>
          ))}
        </svg>
      </li>
    </ul>
  );
  return shown.length === 0 ? (
    figure
  ) : (
    <div>
      {figure}
      <MarkList marks={shown} />
    </div>
  );
}

function Strip(props: {
  readonly title: string;
  readonly label: string;
  readonly axis: object;
  readonly children: ComponentChildren;
}) {
  return (
    <li>
      <span class="of">{props.title}</span>
      <svg class="strip" width="100%" height={HEIGHT} role="img" aria-label={props.label} {...props.axis}>
        {props.children}
        <line class="cursor" y1="0" y2={HEIGHT} />
      </svg>
    </li>
  );
}

export function stripText(name: string, intervals: readonly VerdictInterval[]): string {
  const total = (verdict: Verdict): number =>
    intervals
      .filter((interval) => interval.verdict === verdict)
      .reduce((sum, { from, until }) => sum + until.getTime() - from.getTime(), 0);
  const parts = (['critical', 'warning', 'no_data', 'ok'] as const).flatMap((verdict) =>
    total(verdict) === 0 ? [] : [`${names[verdict]} for ${duration(total(verdict) / 1000)}`],
  );
  return `${name}: ${parts.length === 0 ? 'not evaluated' : parts.join(', ')}`;
}
