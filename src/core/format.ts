/**
 * Formats numbers, shares, durations and times for people. Numbers have at most three significant digits and no
 * trailing zeros, shares are percentages, and durations of less than a second are in milliseconds. Exact values belong
 * in JSON, CSV and metrics. All times are UTC.
 */

/** The Unicode minus sign, which is as wide as `+`. */
const MINUS = '\u2212';

/** At most three significant digits: `0.82`, `1`, `0.0004`, `3.2 × 10²⁰`. */
export function decimal(value: number): string {
  if (Number.isNaN(value)) return '-';
  const size = Math.abs(value);
  if (size < 1e-6) return '0';
  const text = Number.isFinite(value) ? positive(size) : 'unbounded';
  return value < 0 ? `${MINUS}${text}` : text;
}

/**
 * Numbers of at least this size are written with a power of ten, because long runs of zeros are hard to count. E-values
 * can be this large.
 */
const POWER_FROM = 1e9;
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function positive(value: number): string {
  if (value < POWER_FROM) return String(Number(value.toPrecision(value < 0.001 ? 1 : 3)));
  const [digits, exponent = ''] = value.toExponential(2).split('e+');
  return `${Number(digits)} × 10${exponent.replace(/\d/g, (digit) => SUPERSCRIPTS[Number(digit)] ?? '')}`;
}

/** A difference with its sign: `+0.1`. Zero has no sign. */
export function signed(value: number): string {
  const text = decimal(value);
  return value > 0 && text !== '0' ? `+${text}` : text;
}

/** A share in percent: `33 %`, `7.5 %`, `99.6 %`. Only an exact 1 is `100 %`, and only an exact 0 is `0 %`. */
export function percentage(share: number): string {
  const percent = Math.abs(100 * share);
  const toWhole = Math.abs(100 - percent);
  const closest = Math.min(percent, toWhole);
  const digits = percent > 10 && toWhole > 10 ? 0 : closest === 0 ? 1 : Math.max(1, Math.ceil(-Math.log10(closest)));
  const text = withoutZeros(percent.toFixed(Math.min(digits, 6)));
  return `${share < 0 && text !== '0' ? MINUS : ''}${text} %`;
}

/** The difference between two shares, with its sign: `+5.1 %`. */
function points(difference: number): string {
  const text = percentage(difference);
  return difference > 0 && text !== '0 %' ? `+${text}` : text;
}

/** A whole number with narrow spaces as thousands separators. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** `350 ms`, `2.5 s`, `45 s`, `12 min`, `3 h 20 min`, `30 h`, `5 d`. */
export function duration(seconds: number): string {
  const exact = Math.max(0, seconds);
  if (exact > 0 && exact < 0.9995) return `${decimal(1000 * exact)} ms`;
  if (exact < 9.95) return `${Number(exact.toPrecision(2))} s`;
  const s = Math.round(exact);
  if (s < 100) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 100) return minutes === 60 ? '1 h' : `${minutes} min`;
  if (minutes < 10 * 60 && minutes % 60 > 0) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 && hours !== 24 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

/** `45.3 MB`; a megabyte is 1024 times 1024 bytes. */
export function bytes(value: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10)));
  return `${decimal(value / 1024 ** power)} ${units[power]}`;
}

/** `$12.30`, `$0.042` */
export function dollars(value: number): string {
  return `$${value < 0.1 ? decimal(value) : value.toFixed(2)}`;
}

/** `p = 0.031`, `p < 0.001` */
export function probability(p: number): string {
  return p < 0.001 ? 'p < 0.001' : `p = ${decimal(p)}`;
}

/** `2026-11-20 08:30:05` */
export function second(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ');
}

/** `2026-11-20 08:30` */
export function minute(at: Date): string {
  return second(at).slice(0, 16);
}

/** `08:30 UTC`, for use where the day is clear from the context. */
export function timeOfDay(at: Date): string {
  return `${at.toISOString().slice(11, 16)} UTC`;
}

/** Drops trailing zeros: `0.8` for `0.8000`, `5 %` for `5.0 %` */
export function withoutZeros(text: string): string {
  return text.replace(/(\.\d*?)0+( %)?$/, '$1$2').replace(/\.( %)?$/, '$1');
}

/**
 * Formats a value of any size. Whole numbers are exact. Fractional numbers are rounded to at most three significant
 * digits if their absolute value is below 1,000, and to whole numbers otherwise.
 */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return count(value);
  return size < 1000 ? decimal(value) : count(value);
}

/** Unit or kind of a number, which determines how the number is formatted. */
export type Unit = 'score' | 'difference' | 'share' | 'points' | 'count' | 'seconds' | 'ms' | 'ratio' | 'p' | 'other';

const units: Readonly<Record<Unit, (value: number) => string>> = {
  score: decimal,
  difference: signed,
  share: percentage,
  points,
  count,
  seconds: duration,
  ms: (value) => duration(value / 1000),
  ratio: decimal,
  p: (value) => (value < 0.001 ? 'below 0.001' : decimal(value)),
  other: compact,
};

export function formatValue(value: number, unit: Unit): string {
  return units[unit](value);
}

/** Formats a value with the bounds of its confidence interval, if it has them: `0.55 (0.46-0.64)`. */
export function formatBounded(
  { value, low, high }: { readonly value: number; readonly low: number | null; readonly high: number | null },
  unit: Unit,
): string {
  const text = formatValue(value, unit);
  return low === null || high === null ? text : `${text} (${range(low, high, unit)})`;
}

/** Formats a value beside a threshold, with more digits if both would otherwise look the same. */
export function formatBeside(value: number, threshold: number, unit: Unit): string {
  const text = formatValue(value, unit);
  if (value === threshold || text !== formatValue(threshold, unit)) return text;
  const [scale, suffix] =
    unit === 'share' || unit === 'points' ? [100, ' %'] : unit === 'seconds' ? [1, ' s'] : [1, ''];
  for (let digits = 4; digits < 17; digits++) {
    const longer = (scale * value).toPrecision(digits);
    if (longer !== (scale * threshold).toPrecision(digits)) return `${Number(longer)}${suffix}`;
  }
  return text;
}

/** Formats a 95 % confidence interval: `95 % CI 0.46-0.64`, `95 % CI 24-30 %`, `95 % CI −0.05 to +0.01`. */
export function interval(low: number, high: number, unit: Unit = 'score'): string {
  return `95 % CI ${range(low, high, unit)}`;
}

/** Formats two bounds: `0.46-0.64`, `24-30 %`, `−0.05 to +0.01`. */
export function range(low: number, high: number, unit: Unit = 'score'): string {
  const [from, to] = [formatValue(low, unit), formatValue(high, unit)];
  if (unit === 'difference' || unit === 'points' || low < 0 || !Number.isFinite(low + high)) return `${from} to ${to}`;
  const suffixes = [from, to].map((text) => / \D+$/.exec(text)?.[0] ?? '');
  if (suffixes[0] !== suffixes[1] || from.split(' ').length > 2) return `${from} to ${to}`;
  return `${suffixes[0] === '' ? from : from.slice(0, -(suffixes[0]?.length ?? 0))}-${to}`;
}
