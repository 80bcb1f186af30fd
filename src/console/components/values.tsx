/** What stands in lines and cells: verdicts, measured values with their bounds, times, queries. */
import type { ComponentChildren } from 'preact';
import type { Verdict } from '../../model.ts';
import { duration, minute, score, second } from '../format.ts';

/** Verdicts and states: a word, a shape and a colour, so that none of them speaks alone. */
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

interface BoundedProps {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly show?: (value: number) => string;
}

export function Bounded({ value, low, high, show = score }: BoundedProps) {
  return (
    <span class="bounded">
      <strong>{show(value)}</strong>
      {low === null || high === null ? null : <Bounds low={low} high={high} show={show} />}
    </span>
  );
}

export function Bounds({ low, high, show = score }: Omit<BoundedProps, 'value' | 'low' | 'high'> & Range) {
  return (
    <span class="bounds">
      {show(low)} to {show(high)}
    </span>
  );
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/** Stands where a value would. */
export function Missing({ children }: { readonly children: ComponentChildren }) {
  return <span class="missing">{children}</span>;
}

/** Times: when it was, and how long ago that is. */
export function Instant({ at, exact = false }: { readonly at: Date; readonly exact?: boolean }) {
  return (
    <time class="instant" datetime={at.toISOString()}>
      {exact ? second(at) : minute(at)}
    </time>
  );
}

/** Says `too old` in words beside the age, never by colour alone. */
export function Age({ seconds, isTooOld = false }: { readonly seconds: number; readonly isTooOld?: boolean }) {
  return (
    <span class={isTooOld ? 'age old' : 'age'}>
      {duration(seconds)}
      {' ago'}
      {isTooOld ? <span class="old-mark">, too old</span> : null}
    </span>
  );
}

/** Since when something is as it is, and for how long. */
export function Lasting({ from, seconds }: { readonly from: Date; readonly seconds: number }) {
  return (
    <>
      <Instant at={from} /> <span class="of lasting">{duration(seconds)}</span>
    </>
  );
}

export function agoOf(at: Date, now: Date): number {
  return (now.getTime() - at.getTime()) / 1000;
}

/** What is told to people; what stands between backticks is to be typed as it is. */
export function Sentence({ children }: { readonly children: string }) {
  return (
    <>{children.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}

/** What a query asked, or its id where no text may be shown or none was kept. */
export function QueryText({ id, text }: { readonly id: string; readonly text: string | null }) {
  return text === null ? (
    <code class="query-id">{id}</code>
  ) : (
    <>
      <span class="query-text">{text}</span> <code class="query-id">{id}</code>
    </>
  );
}
