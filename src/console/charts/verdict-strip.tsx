/** How a check stood over time, as a strip: the worse, the higher; what is not known is hollow. */
import { scaleUtc } from 'd3-scale';
import type { Verdict } from '../../core/model.ts';
import { duration, minute } from '../format.ts';
import type { VerdictSpell } from './verdict-spells.ts';

const WIDTH = 640;
const HEIGHT = 18;
/** Of a spell that is too short to be seen otherwise. */
const LEAST_WIDTH = 2;

const heights: Record<Verdict, number> = { ok: 5, warning: 11, critical: HEIGHT, no_data: 8 };

export const verdictNames: Record<Verdict, string> = {
  ok: 'OK',
  warning: 'warning',
  critical: 'critical',
  no_data: 'no data',
};

interface VerdictStripProps {
  readonly name: string;
  readonly spells: readonly VerdictSpell[];
  readonly from: Date;
  readonly until: Date;
}

export function VerdictStrip({ name, spells, from, until }: VerdictStripProps) {
  const scale = scaleUtc([from, until], [0, WIDTH]);
  const x = (at: Date): number => Math.round(scale(at) * 10) / 10;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(name, spells)}
    >
      {spells.map(({ verdict, from: start, until: end }) => (
        <rect
          key={start.getTime()}
          class={verdict}
          x={x(start)}
          y={HEIGHT - heights[verdict]}
          width={Math.max(LEAST_WIDTH, x(end) - x(start))}
          height={heights[verdict]}
        >
          <title>{`${verdictNames[verdict]} from ${minute(start)} to ${minute(end)}`}</title>
        </rect>
      ))}
    </svg>
  );
}

function describe(name: string, spells: readonly VerdictSpell[]): string {
  const total = (verdict: Verdict): number =>
    spells
      .filter((spell) => spell.verdict === verdict)
      .reduce((sum, { from, until }) => sum + until.getTime() - from.getTime(), 0);
  const parts = (['critical', 'warning', 'no_data', 'ok'] as const).flatMap((verdict) =>
    total(verdict) === 0 ? [] : [`${verdictNames[verdict]} for ${duration(total(verdict) / 1000)}`],
  );
  return `${name}: ${parts.length === 0 ? 'not judged' : parts.join(', ')}`;
}
