/** Samples of live queries with values that do not matter, so that a test names only those that do. */

import type { Click } from '../../src/live/rules/feedback/click-rates.ts';
import type { WindowQuery } from '../../src/live/sql/live-windows.ts';
import { NOON } from './builders.ts';

/** A time so many hours before noon. */
export function hoursAgo(count: number): Date {
  return new Date(NOON.getTime() - count * 3_600_000);
}

/** A sample two hours before noon of a rate of a half, with the documents `d1` and `d2`. */
export function aSample(parts: Partial<WindowQuery> = {}): WindowQuery {
  return {
    id: 'q1',
    occurredAt: hoursAgo(2),
    cluster: 0.25,
    probability: 0.5,
    rateProbability: 0.5,
    outcome: 'ok',
    segments: {},
    documentIds: ['d1', 'd2'],
    context: null,
    stages: [],
    ...parts,
  };
}

/** Samples `q0`, `q1`, ... of sessions of their own, whose draws are spread evenly below a half. */
export function samples(count: number, parts: (index: number) => Partial<WindowQuery> = () => ({})): WindowQuery[] {
  return Array.from({ length: count }, (_, index) =>
    aSample({ id: `q${index}`, cluster: (0.5 * (index + 0.5)) / count, ...parts(index) }),
  );
}

/** A click on `d1` of `q1`, a minute after the query. */
export function aClick(parts: Partial<Click> = {}): Click {
  return {
    queryId: 'q1',
    documentId: 'd1',
    rank: null,
    occurredAt: new Date(hoursAgo(2).getTime() + 60_000),
    ...parts,
  };
}
