/**
 * Runs the daemon's density alerts on a stream: builds the baseline, closes windows, and evaluates the alerts of both
 * levels.
 */

import {
  type AlertEvent,
  type AlertLevel,
  type AlertState,
  alertPolicy,
  alertThreshold,
  newAlert,
  stepAlert,
} from '../../src/density/rules/alert.ts';
import { type Baseline, buildBaseline } from '../../src/density/rules/baseline.ts';
import { expectedInBaseline } from '../../src/density/rules/matched-density.ts';
import { measureRanked, rankQueries, type WindowMeasurement } from '../../src/density/rules/measure-window.ts';
import { type WindowTotals, windowTotals } from '../../src/density/rules/pooled-density.ts';
import type { ScoredQuery } from '../../src/density/rules/query-score.ts';
import { type Matrix, selectRows } from '../../src/math/vector/matrix.ts';
import type { Asked } from './traffic.ts';
import type { Scores } from './world.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
/** A Monday at midnight, UTC. */
const START_MS = Date.UTC(2024, 0, 1);
/** Number of windows over which the size of a drop is measured. */
export const POOL_HOURS = 7 * 24;
export const BASELINE_HOURS = 14 * 24;
/** Accepted false pages: one in a year of hourly windows. */
export const budget = { count: 1, periodMs: YEAR_MS } as const;

/** A measured query of the stream. */
export type LiveQuery = WindowMeasurement['queries'][number] & {
  /** Index of the query in the scenario. */
  readonly question: number;
};

export interface MonitoredHour {
  readonly startMs: number;
  readonly queries: readonly LiveQuery[];
  readonly sessions: number;
  readonly density: number | null;
  /** Share of uncovered sessions. */
  readonly uncovered: number;
  readonly events: Readonly<Record<AlertLevel, AlertEvent | null>>;
}

export interface Monitor {
  /**
   * Closes the next hour. `vectors` and `scores` cover all queries, and come from the current live embedder and store.
   */
  close(asked: readonly Asked[], vectors: Matrix, scores: Scores): MonitoredHour;
}

/** Builds the baseline from the first 14 days. @param hours queries of each hour */
export function baselineOf(hours: readonly (readonly Asked[])[], vectors: Matrix, scores: Scores): Baseline {
  const queries = hours.flatMap((asked, hour) => scored(asked, hour, scores, ({ question }) => question));
  const period = { from: new Date(START_MS), until: new Date(START_MS + hours.length * HOUR_MS) };
  const baseline = buildBaseline(queries, vectors, { period, windowMs: HOUR_MS, seed: 1 });
  if ('kind' in baseline) throw new Error('The simulated baseline has no days.');
  return baseline;
}

/** @param firstHour hour of the first window after the baseline */
export function startMonitor(baseline: Baseline, firstHour: number): Monitor {
  const threshold = alertThreshold(budget, HOUR_MS, 1);
  const policies = {
    page: alertPolicy(baseline, 'page', threshold),
    ticket: alertPolicy(baseline, 'ticket', threshold),
  };
  const startMs = START_MS + firstHour * HOUR_MS;
  const states: Record<AlertLevel, AlertState> = {
    page: newAlert(policies.page, startMs),
    ticket: newAlert(policies.ticket, startMs),
  };
  /**
   * Caches the expected surprises of all queries of a scenario, because one search for all of them is much faster than
   * a search in each hour.
   */
  const known = new Map<Matrix, Float64Array>();
  const expectedIn = (vectors: Matrix): Float64Array => {
    const expected = known.get(vectors) ?? expectedInBaseline(vectors, baseline.reference);
    known.set(vectors, expected);
    return expected;
  };
  const history: WindowTotals[] = [];
  let hour = firstHour;
  return {
    close: (asked, vectors, scores) => {
      const own = selectRows(
        vectors,
        asked.map(({ question }) => question),
      );
      const queries = scored(asked, hour, scores, (_, i) => i);
      const expected = expectedIn(vectors);
      const ranked = rankQueries(queries, own, baseline);
      const window = measureRanked(ranked, (row) => expected[asked[row]?.question ?? 0] ?? 0, baseline.meanExcess);
      const startMs = START_MS + hour * HOUR_MS;
      history.push(windowTotals({ startMs, endMs: startMs + HOUR_MS }, window.means));
      if (history.length > POOL_HOURS) history.shift();
      const step = (level: AlertLevel): AlertEvent | null => {
        const { state, event } = stepAlert(policies[level], states[level], window.scores, history);
        states[level] = state;
        return event;
      };
      hour++;
      return {
        startMs,
        queries: window.queries.map((query) => ({
          ...query,
          question: asked[query.row ?? 0]?.question ?? 0,
        })),
        sessions: window.density?.sessions ?? 0,
        density: window.density?.density ?? null,
        uncovered: window.density?.uncovered.share ?? 0,
        events: { page: step('page'), ticket: step('ticket') },
      };
    },
  };
}

function scored(
  asked: readonly Asked[],
  hour: number,
  scores: Scores,
  rowOf: (asked: Asked, index: number) => number,
): ScoredQuery[] {
  const occurredAt = new Date(START_MS + hour * HOUR_MS);
  return asked.map((one, i) => ({
    id: `${String(hour).padStart(5, '0')}/${String(i).padStart(5, '0')}`,
    session: one.session,
    score: scores[one.question] ?? null,
    row: rowOf(one, i),
    occurredAt,
  }));
}
