/** Summarizes the streams of one scenario and traffic volume. */

import type { AlertLevel } from '../../src/density/rules/alert.ts';
import { mean } from '../../src/math/stats/descriptive.ts';
import { type RateWithBounds, rateWithBounds, type ShareWithBounds, shareWithBounds } from '../bounds.ts';
import type { Reading } from './reading.ts';
import type { ChangeResult, QuietResult, Scenario } from './streams.ts';

export interface QuietCell {
  readonly world: string;
  readonly queriesPerHour: number;
  readonly streams: number;
  readonly days: number;
  readonly sessionsPerHour: number;
  readonly overdispersion: number;
  /** Rate of alerts by level; without a change, all alerts are false. */
  readonly alerts: Readonly<Record<AlertLevel, RateWithBounds>>;
}

export interface LevelDelays {
  readonly found: ShareWithBounds;
  /**
   * Median number of hours from the change to the alert, over all streams; null if fewer than half of the streams had
   * an alert.
   */
  readonly medianHours: number | null;
  readonly p90Hours: number | null;
  readonly medianQueries: number | null;
}

export interface ChangeCell {
  readonly world: string;
  readonly queriesPerHour: number;
  readonly change: string;
  readonly streams: number;
  readonly days: number;
  /** Density of all traffic after the change, as the geometric mean over the streams. */
  readonly density: number;
  readonly levels: Readonly<Record<AlertLevel, LevelDelays>>;
  /** Number of alerts for each named cause. */
  readonly causes: Readonly<Record<string, number>>;
  /** Number of alerts that named a cluster in which most queries ask for the missing content. */
  readonly namedTopic: number;
  /** Number of streams in which the canary detected another model in the first hour. */
  readonly canary: number;
}

export function quietCell(
  place: Pick<QuietCell, 'world' | 'queriesPerHour' | 'days'>,
  results: readonly QuietResult[],
): QuietCell {
  const years = (results.length * place.days) / 365;
  const of = (level: AlertLevel): RateWithBounds =>
    rateWithBounds(sum(results.map(({ alerts }) => alerts[level])), years);
  return {
    ...place,
    streams: results.length,
    sessionsPerHour: mean(results.map(({ sessionsPerHour }) => sessionsPerHour)),
    overdispersion: mean(results.map(({ overdispersion }) => overdispersion)),
    alerts: { page: of('page'), ticket: of('ticket') },
  };
}

export function changeCell(
  place: Pick<ChangeCell, 'world' | 'queriesPerHour' | 'days'>,
  scenario: Scenario,
  results: readonly ChangeResult[],
): ChangeCell {
  const causes: Record<string, number> = {};
  for (const { reading, canaryHours } of results) {
    // A changed canary takes precedence over every other cause of the alert.
    const cause = canaryHours === null ? readingName(reading) : 'other model';
    if (cause !== null) causes[cause] = (causes[cause] ?? 0) + 1;
  }
  return {
    ...place,
    change: nameOf(scenario),
    streams: results.length,
    density: Math.exp(mean(results.map(({ density }) => Math.log(density)))),
    levels: { page: delaysOf(results, 'page'), ticket: delaysOf(results, 'ticket') },
    causes,
    namedTopic: results.filter(({ reading }) => (reading?.purity ?? 0) > 0.5).length,
    canary: results.filter(({ canaryHours }) => canaryHours !== null).length,
  };
}

export function nameOf(scenario: Scenario): string {
  switch (scenario.kind) {
    case 'uncovered':
      return `uncovered topic (${scenario.topic}), ${percent(scenario.share)} of traffic`;
    case 'new and held':
      return `new topic that the store contains, ${percent(scenario.share)} of traffic`;
    case 'deleted':
      return `deleted topics, ${percent(scenario.share)} of traffic`;
    case 'topic mix':
      return `other mix of covered topics, by factors of exp(${scenario.spread} z)`;
    case 'other model':
      return 'other embedding model';
  }
}

function readingName(reading: Reading | null): string | null {
  if (reading === null) return null;
  return `${reading.cause.replaceAll('_', ' ')}${reading.confidence === 'low' ? ' (low confidence)' : ''}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function delaysOf(results: readonly ChangeResult[], level: AlertLevel): LevelDelays {
  const delays = results.map(({ delays: both }) => both[level]);
  const found = delays.filter((delay) => delay !== null).length;
  const quantile = (share: number, of: 'hours' | 'queries'): number | null => {
    const values = delays.map((delay) => delay?.[of] ?? Number.POSITIVE_INFINITY).toSorted((a, b) => a - b);
    const value = values[Math.ceil(share * values.length) - 1] ?? Number.POSITIVE_INFINITY;
    return Number.isFinite(value) ? value : null;
  };
  return {
    found: shareWithBounds(found, delays.length),
    medianHours: quantile(0.5, 'hours'),
    p90Hours: quantile(0.9, 'hours'),
    medianQueries: quantile(0.5, 'queries'),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
