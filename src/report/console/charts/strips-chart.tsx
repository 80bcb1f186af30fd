/** Draws the verdicts of checks over time, one strip a check; a worse verdict is drawn higher. */
import { scaleUtc } from 'd3-scale';
import { duration, minute } from '../../../core/format.ts';
import type { Verdict } from '../../../core/model.ts';
import type { StripsChart, VerdictInterval } from '../../model/charts.ts';

const WIDTH = 640;
const HEIGHT = 18;
/** Keeps very short intervals visible. */
const MIN_WIDTH = 2;

const heights: Record<Verdict, number> = { ok: 5, warning: 11, critical: HEIGHT, no_data: 8 };

const names: Record<Verdict, string> = { ok: 'OK', warning: 'warning', critical: 'critical', no_data: 'no data' };

export function StripsFigure({ chart: { strips, from, until } }: { readonly chart: StripsChart }) {
  const scale = scaleUtc([from, until], [0, WIDTH]);
  const x = (at: Date): number => Math.round(scale(at) * 10) / 10;
  return (
    <ul class="strips">
      {strips.map(({ label, intervals }) => (
        <li key={label}>
          <span class="of">{label}</span>
          <svg
            class="strip"
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={stripText(label, intervals)}
          >
            {intervals.map(({ verdict, from: start, until: end }) => (
              <rect
                key={start.getTime()}
                class={verdict}
                x={x(start)}
                y={HEIGHT - heights[verdict]}
                width={Math.max(MIN_WIDTH, x(end) - x(start))}
                height={heights[verdict]}
              >
                <title>{`${names[verdict]} from ${minute(start)} to ${minute(end)}`}</title>
              </rect>
            ))}
          </svg>
        </li>
      ))}
      <li aria-hidden="true">
        <span />
        <span class="strip-ends of">
          <span>{minute(from)}</span>
          <span>{minute(until)}</span>
        </span>
      </li>
    </ul>
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
