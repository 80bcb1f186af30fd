/**
 * Texts for a failing check: a title for a lock screen, a sentence with the numbers, and a sentence that reports the
 * recovery. The alert rules (checks/edge/alerts.ts) build the same sentence from metrics.
 */

import { capitalized, decimal, formatBeside, formatValue, interval, plural, type Unit } from '../../core/format.ts';
import { metricName } from '../../math/ir/metric-key.ts';
import {
  measureTable,
  type ThresholdMeasureName,
  thresholdPolicy,
  titleInLine,
} from '../../measures/rules/measure-table.ts';
import type { CheckState } from './check-state.ts';
import { whereOf } from './threshold.ts';

/** The variable words in a check's sentence, which are also labels of `recalld_check_info`. */
export interface AlertWords {
  /** Subject of the check's sentence, such as the measure. */
  readonly what: string;
  /** The side of the threshold on which the check fails. */
  readonly limit: 'below' | 'above';
  readonly unit: 'seconds' | 'share' | 'number';
}

/**
 * Functions that format the numbers in a sentence. Alert rules must use the template functions of Prometheus instead.
 */
export interface NumberStyle {
  value(value: number, unit: AlertWords['unit']): string;
  interval(low: number, high: number, unit: AlertWords['unit']): string;
}

const unitOf: Readonly<Record<AlertWords['unit'], Unit>> = { seconds: 'seconds', share: 'share', number: 'score' };

const forPeople: NumberStyle = {
  value: (value, unit) => formatValue(value, unitOf[unit]),
  interval: (low, high, unit) => interval(low, high, unitOf[unit]),
};

/**
 * Describes a failing check: "nDCG@10 on faq dropped from 1 to 0.037 (95 % CI 0.02-0.06, n = 160), below 0.8, at 19:15
 * UTC on 2026-11-20". Omits unknown parts. The past tense keeps the sentence true after a recovery.
 */
export function alertText(check: CheckState, style: NumberStyle = forPeople): string {
  const { what, limit, unit } = alertWords(check);
  const { kind, value, threshold } = check;
  const before = alertBefore(check);
  const since = alertSince(check);
  const format = (number: number): string => style.value(number, unit);
  if (value === null) {
    const last = before === null ? '' : `, last passing value ${format(before)}`;
    return `${what}: no data${since === null ? '' : ` since ${moment(since)}`} (threshold ${format(threshold)}${last})`;
  }
  const at = since === null ? '' : `, at ${moment(since)}`;
  // The explanation of an isolation check lists the documents, which the numbers do not show.
  if (kind === 'isolation' && check.explanation !== null) return check.explanation.replace(/\.$/, '');
  if (kind === 'density_drift')
    return `${what} dropped below the baseline${at === '' ? '' : at.slice(1)}: drift confirmed`;
  const verb = limit === 'below' ? 'dropped' : 'rose';
  const change = kind === 'regression' ? ':' : ` ${verb}${before === null ? '' : ` from ${format(before)}`} to`;
  return `${what}${change} ${format(value)}${spread(check, unit, style)}, ${limit} ${format(threshold)}${at}`;
}

/** Title for a failing check: "nDCG@10 on faq 0.55, below 0.7". */
export function alertHeadline(check: CheckState): string {
  const { value, threshold, kind } = check;
  const { limit, unit } = alertWords(check);
  const subject = headlineSubject(check);
  if (kind === 'density_drift') return 'live queries are less well covered than in the baseline';
  if (kind === 'isolation' && value !== null)
    return `${subject} violated by ${plural(value, 'live query', 'live queries')}`;
  if (kind === 'regression')
    return value === null
      ? `${subject} unknown`
      : `${subject} down by ${formatBeside(-value, -threshold, 'score')}, limit ${formatValue(-threshold, 'score')}`;
  const shown = value === null ? 'unknown' : formatBeside(value, threshold, unitOf[unit]);
  return `${subject} ${shown}, ${limit} ${formatValue(threshold, unitOf[unit])}`;
}

/**
 * Describes a recovery: "nDCG@10 on faq recovered to 0.82"; null if no measurement shows the recovery. Does not report
 * a recovery if the check passes only because another baseline was pinned.
 *
 * @param breachedAgainst baseline against which the check failed; null if the check compared nothing with a baseline
 */
export function recoveryText(check: CheckState, breachedAgainst: string | null): string | null {
  const { kind, value, verdict, comparedWith } = check;
  if (verdict !== 'ok') return null;
  const subject = headlineSubject(check);
  if (kind === 'isolation') return `violations of ${subject} stopped`;
  if (value === null || kind === 'density_drift') return `${subject} recovered`;
  if (kind !== 'regression') return `${subject} recovered to ${forPeople.value(value, alertWords(check).unit)}`;
  const distance = decimal(Math.abs(value));
  const place = distance === '0' ? 'equal to' : `${distance} ${value < 0 ? 'below' : 'above'}`;
  return comparedWith === breachedAgainst
    ? `${subject} recovered (${place} the baseline)`
    : `${subject} passes the comparison with the new baseline ${comparedWith} (${place} it)`;
}

function headlineSubject({ kind, name, measure, goldenSet, segment }: CheckState): string {
  const on = goldenSet === null ? '' : ` on ${goldenSet}`;
  switch (kind) {
    case 'floor':
    case 'regression':
      return `${metricName(measure)}${on}`;
    case 'stale_labels':
      return `stale labels${on}`;
    case 'forbidden_results':
      return `forbidden documents returned${on}`;
    case 'isolation':
      return name;
    case 'density_drift':
      return 'coverage of live queries';
    case 'threshold':
      return `${titleInLine(measure)}${segment === null ? '' : whereOf(segment)}`;
  }
}

export function alertWords({ kind, measure, goldenSet, segment, comparedWith }: CheckState): AlertWords {
  const on = goldenSet === null ? '' : ` on ${goldenSet}`;
  switch (kind) {
    case 'floor':
      return { what: `${metricName(measure)}${on}`, limit: 'below', unit: 'number' };
    case 'regression': {
      const baseline = comparedWith === null ? 'the baseline' : `baseline ${comparedWith}`;
      return { what: `${metricName(measure)}${on} compared with ${baseline}`, limit: 'below', unit: 'number' };
    }
    case 'stale_labels':
      return { what: 'The share of judged documents with stale labels', limit: 'above', unit: 'share' };
    case 'forbidden_results':
      return { what: 'The number of forbidden documents returned', limit: 'above', unit: 'number' };
    case 'isolation':
      return {
        what: 'The number of live queries whose results violate an isolation rule',
        limit: 'above',
        unit: 'number',
      };
    case 'density_drift':
      return { what: 'The coverage of live queries', limit: 'above', unit: 'number' };
    case 'threshold': {
      const name = measure as ThresholdMeasureName;
      const { subject, scale } = measureTable[name];
      return {
        what: `${capitalized(subject)}${segment === null ? '' : whereOf(segment)}`,
        limit: thresholdPolicy(name).worse,
        unit: scale === 'seconds' || scale === 'share' ? scale : 'number',
      };
    }
  }
}

/** Returns the last value before the check failed; null for a regression check, whose last value was about zero. */
export function alertBefore({ kind, before }: CheckState): number | null {
  return kind === 'regression' ? null : before;
}

/** Returns the time of the first measurement beyond the threshold; for missing data, the time when the data stopped. */
export function alertSince({ verdict, since, breachedSince }: CheckState): Date | null {
  return verdict === 'no_data' ? since : (breachedSince ?? since);
}

function spread({ ciLow, ciHigh, n }: CheckState, unit: AlertWords['unit'], style: NumberStyle): string {
  const bounds = ciLow === null || ciHigh === null ? [] : [style.interval(ciLow, ciHigh, unit)];
  const parts = [...bounds, ...(n === null ? [] : [`n = ${n}`])];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/** `19:15 UTC on 2026-11-20` */
function moment(at: Date): string {
  const [day = '', time = ''] = at.toISOString().split('T');
  return `${time.slice(0, 5)} UTC on ${day}`;
}
