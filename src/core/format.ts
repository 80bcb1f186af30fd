/** Numbers and times as people are shown them. All times are UTC. */
import { percent } from './text/spelling.ts';

/** At most three significant digits, without zeros at the end: `0.82`, `1`, `0.0004`. */
function score(value: number): string {
  const size = Math.abs(value);
  if (size < 1e-6) return '0';
  return String(Number(value.toPrecision(size < 0.001 ? 1 : 3)));
}

/** With a sign, so that a fall is told from a rise without colour. */
export function signed(value: number): string {
  const size = score(Math.abs(value));
  if (size === '0') return size;
  return `${value > 0 ? '+' : '\u2212'}${size}`;
}

/** A share in percent: `33 %`, `7.5 %`. */
export function percentage(value: number): string {
  return withoutZeros(percent(value));
}

/** Thousands apart by a narrow space. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** The two largest units would be noise: `350 ms`, `45 s`, `12 min`, `3 h`, `5 d`. */
export function duration(seconds: number): string {
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const s = Math.max(0, Math.round(seconds));
  if (s < 100) return `${s} s`;
  if (s < 100 * 60) return `${Math.round(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86_400)} d`;
}

/** `2026-11-20 08:30:05` */
export function second(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ');
}

/** `2026-11-20 08:30` */
export function minute(at: Date): string {
  return second(at).slice(0, 16);
}

/** For axes, which need no more than what tells their ticks apart: `0.8` for `0.8000`, `5 %` for `5.0 %`. */
export function withoutZeros(text: string): string {
  return text.replace(/(\.\d*?)0+( %)?$/, '$1$2').replace(/\.( %)?$/, '$1');
}

/** At most three significant digits, for values of any size. */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return count(value);
  return size < 1000 ? score(value) : count(value);
}

/** What a number counts or measures, which says how it is written. */
export type Unit = 'score' | 'difference' | 'share' | 'points' | 'count' | 'seconds' | 'ms' | 'ratio' | 'p' | 'other';

const units: Readonly<Record<Unit, (value: number) => string>> = {
  score,
  difference: signed,
  share: percentage,
  points: (value) => `${value < 0 ? '\u2212' : '+'}${percentage(Math.abs(value))}`,
  count,
  seconds: duration,
  ms: (value) => `${count(value)} ms`,
  ratio: (value) => withoutZeros(value.toFixed(2)),
  p: (value) => (value < 0.001 ? 'below 0.001' : value.toFixed(3)),
  other: compact,
};

export function formatValue(value: number, unit: Unit): string {
  return units[unit](value);
}
