/**
 * The sentence of an alarm: the value with its bounds, the threshold, since when, and how it was before. It is said in two
 * places, here for what recalld sends itself, and in the annotation of the rules (checks/alerts.ts), which makes
 * it of the metrics.
 */

import { signed } from '../../core/format.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { measureTable, type ThresholdMeasureName, thresholdPolicy } from '../../measures/rules/measure-table.ts';
import type { CheckState, ConfiguredCheck } from './check-state.ts';

/** What a sentence on a check is made of, beside its numbers. */
export interface AlertWords {
  /** What the value is of: `<this> is <value>`. */
  readonly what: string;
  readonly limit: 'floor' | 'ceiling';
  /** How its values are written. */
  readonly unit: 'seconds' | 'number';
}

/**
 * "ndcg@10 fell to 0.0370 (95 % 0.0200 to 0.0600, n = 160), floor 0.8000, from 19:15 UTC on 2026-11-20; 1.0000 before", of
 * a check that is not ok. What is not known is left out. In the past tense, so that it is true as well when it is read
 * after the repair.
 */
export function alertText(check: CheckState): string {
  const { what, limit, unit } = alertWords(check);
  const { value, threshold, before } = check;
  const came = limit === 'floor' ? 'fell to' : 'rose to';
  const is = value === null ? 'was not known' : `${came} ${written(value, unit)}${spread(check, unit)}`;
  const text = `${what} ${is}, ${limit} ${written(threshold, unit)}`;
  const since = alertSince(check);
  return `${text}${since === null ? '' : `, from ${moment(since)}`}${before === null ? '' : `; ${written(before, unit)} before`}`;
}

/** "nDCG@10 0.55, below 0.7": enough on a lock screen. */
export function alertHeadline(check: CheckState): string {
  const { value, threshold, kind } = check;
  const { limit, unit } = alertWords(check);
  if (kind === 'density_drift') return 'live queries are covered worse than in the baseline';
  const is = value === null ? 'unknown' : brief(value, unit);
  if (kind === 'regression') {
    const [drop, allowed] = [-(value ?? 0), -threshold].map((number) => brief(number, unit));
    return value === null
      ? `${headlineSubject(check)} unknown`
      : `${headlineSubject(check)} down by ${drop}, limit ${allowed}`;
  }
  return `${headlineSubject(check)} ${is}, ${limit === 'floor' ? 'below' : 'above'} ${brief(threshold, unit)}`;
}

/**
 * "nDCG@10 recovered to 0.82"; null where nothing shows that it did. A check that passes because another baseline was
 * pinned is not said to have recovered.
 *
 * @param breachedAgainst the baseline that it was breached against; null for a value by itself
 */
export function recoveryText(check: CheckState, breachedAgainst: string | null): string | null {
  const { kind, value, verdict, comparedWith } = check;
  if (verdict !== 'ok') return null;
  const subject = headlineSubject(check);
  if (value === null || kind === 'density_drift') return `${subject} recovered`;
  const { unit } = alertWords(check);
  if (kind === 'regression' && comparedWith !== breachedAgainst)
    return `${subject} passes against another baseline (${signed(value)} against ${comparedWith})`;
  return kind === 'regression'
    ? `${subject} recovered (${signed(value)} against the baseline)`
    : `${subject} recovered to ${brief(value, unit)}`;
}

/** What a check watches, in a word or two. */
function headlineSubject({ kind, measure, goldenSet, segment }: CheckState): string {
  const on = goldenSet === null ? '' : ` on ${goldenSet}`;
  switch (kind) {
    case 'floor':
    case 'regression':
      return `${measure.replace(/^ndcg/, 'nDCG').replace(/^mrr/, 'MRR')}${on}`;
    case 'stale_labels':
      return `share of superseded documents${on}`;
    case 'forbidden_results':
      return `forbidden documents returned${on}`;
    case 'density_drift':
      return 'coverage of live queries';
    case 'threshold': {
      const where = segment === null || segment === ALL_SEGMENT ? '' : ` (${segment})`;
      return `${measure.replaceAll('_', ' ').replace(/ seconds$/, '')}${where}`;
    }
  }
}

function threeDigits(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Three significant digits; times in milliseconds below a second. */
function brief(value: number, unit: AlertWords['unit']): string {
  if (unit === 'number') return threeDigits(value);
  return Math.abs(value) < 1 ? `${threeDigits(1000 * value)} ms` : `${threeDigits(value)} s`;
}

export function alertWords({
  kind,
  measure,
  segment,
  comparedWith,
}: Pick<ConfiguredCheck, 'kind' | 'measure'> & Pick<CheckState, 'segment' | 'comparedWith'>): AlertWords {
  switch (kind) {
    case 'floor':
      return { what: measure, limit: 'floor', unit: 'number' };
    case 'regression':
      return {
        what: `${measure} against ${comparedWith === null ? 'the baseline' : `baseline ${comparedWith}`}`,
        limit: 'floor',
        unit: 'number',
      };
    case 'stale_labels':
      return { what: 'The share of judged documents that are superseded', limit: 'ceiling', unit: 'number' };
    case 'forbidden_results':
      return { what: 'The number of forbidden documents that came back', limit: 'ceiling', unit: 'number' };
    case 'density_drift':
      return { what: 'The evidence that queries are covered worse', limit: 'ceiling', unit: 'number' };
    case 'threshold': {
      const name = measure as ThresholdMeasureName;
      const { worse, unit } = thresholdPolicy(name);
      const { subject } = measureTable[name];
      const where = segment === null || segment === ALL_SEGMENT ? '' : ` of ${segment}`;
      return {
        what: `${subject.charAt(0).toUpperCase()}${subject.slice(1)}${where}`,
        limit: worse === 'below' ? 'floor' : 'ceiling',
        unit: unit === 'seconds' ? 'seconds' : 'number',
      };
    }
  }
}

/** When it began: the first bad measurement of a breach, or when nothing was known any more. */
export function alertSince({
  verdict,
  since,
  breachedSince,
}: Pick<CheckState, 'verdict' | 'since' | 'breachedSince'>): Date | null {
  return verdict === 'no_data' ? since : (breachedSince ?? since);
}

function spread({ ciLow, ciHigh, n }: CheckState, unit: AlertWords['unit']): string {
  const count = n === null ? '' : `n = ${n}`;
  if (ciLow === null || ciHigh === null) return n === null ? '' : ` (${count})`;
  return ` (95 % ${written(ciLow, unit)} to ${written(ciHigh, unit)}${n === null ? '' : `, ${count}`})`;
}

function written(value: number, unit: AlertWords['unit']): string {
  return unit === 'seconds' ? humanDuration(value) : fourDecimals(value);
}

/** As `%.4f` of Prometheus, which rounds a tie to the even digit. Only an odd multiple of 1/32 is one. */
function fourDecimals(value: number): string {
  if (!Number.isInteger(value * 32) || Number.isInteger(value * 16)) return value.toFixed(4);
  const down = Math.floor(value * 10_000);
  return ((down % 2 === 0 ? down : down + 1) / 10_000).toFixed(4);
}

/** As `humanizeDuration` of Prometheus. */
function humanDuration(seconds: number): string {
  const size = Math.abs(seconds);
  if (size < 1) return size === 0 ? '0s' : shortOfASecond(seconds);
  const sign = seconds < 0 ? '-' : '';
  if (size < 60) return `${sign}${Number(size.toPrecision(4))}s`;
  const whole = Math.trunc(size);
  const parts = [
    [Math.trunc(whole / 86_400), 'd'],
    [Math.trunc(whole / 3600) % 24, 'h'],
    [Math.trunc(whole / 60) % 60, 'm'],
    [whole % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return (
    sign +
    parts
      .slice(first)
      .map(([count, unit]) => `${count}${unit}`)
      .join(' ')
  );
}

function shortOfASecond(seconds: number): string {
  let scaled = seconds;
  for (const prefix of ['m', 'u', 'n']) {
    scaled *= 1000;
    if (Math.abs(scaled) >= 1) return `${Number(scaled.toPrecision(4))}${prefix}s`;
  }
  return `${Number(scaled.toPrecision(4))}ns`;
}

/** `19:15 UTC on 2026-11-20` */
function moment(at: Date): string {
  const [day = '', time = ''] = at.toISOString().split('T');
  return `${time.slice(0, 5)} UTC on ${day}`;
}
