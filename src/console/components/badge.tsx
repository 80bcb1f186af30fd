/** Verdicts and states: a word, a shape and a colour, so that none of them speaks alone. */
import type { Verdict } from '../../model.ts';

export type Tone = 'ok' | 'warning' | 'critical' | 'no_data' | 'neutral' | 'good';

const words: Record<Verdict, string> = {
  ok: 'OK',
  warning: 'Warning',
  critical: 'Critical',
  no_data: 'No data',
};

export function VerdictBadge({ verdict }: { readonly verdict: Verdict }) {
  return <Badge tone={verdict}>{words[verdict]}</Badge>;
}

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`badge ${tone}`}>
      <Mark tone={tone} />
      {children}
    </span>
  );
}

/** Disc, triangle, diamond, ring: told apart without colour. */
function Mark({ tone }: { readonly tone: Tone }) {
  return (
    <svg class="mark" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      <path d={marks[tone]} />
    </svg>
  );
}

const disc = 'M5 1a4 4 0 1 1 0 8a4 4 0 0 1 0-8z';

const marks: Record<Tone, string> = {
  ok: disc,
  good: disc,
  warning: 'M5 1L9.5 9H.5z',
  critical: 'M5 0L10 5L5 10L0 5z',
  no_data: 'M5 1a4 4 0 1 1 0 8a4 4 0 0 1 0-8zm0 2a2 2 0 1 0 0 4a2 2 0 0 0 0-4z',
  neutral: 'M1 4h8v2H1z',
};
