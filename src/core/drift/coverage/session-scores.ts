/** From the surprises of the queries of a window to one mean for each session, which is what counts as evidence. */
import { LARGEST_SURPRISE, NO_REGION } from './percentile.ts';

/** Mean surprise x of each session of one window, in nats. */
export interface SessionMeans {
  readonly all: Float64Array;
  /** By region, of the sessions with queries there, over those queries. */
  readonly regions: ReadonlyMap<number, Float64Array>;
}

/** Session scores y = mean of x / ln 100 of one window. */
export interface SessionScores {
  readonly all: ArrayLike<number>;
  /** By region: a session counts in every region it has queries in, with their mean. */
  readonly regions: ReadonlyMap<number, ArrayLike<number>>;
}

/** Sessions and the sum of their mean surprises: what pooled densities are made of. */
export interface SurpriseTotal {
  readonly sessions: number;
  readonly sumX: number;
}

/**
 * @param surprises of the queries of one window
 * @param regions of the queries, `NO_REGION` for none
 * @param sessions numbers of the queries' sessions
 */
export function sessionMeans(
  surprises: Float64Array,
  regions: ArrayLike<number>,
  sessions: ArrayLike<number>,
): SessionMeans {
  const all = new Map<number, Sum>();
  const byRegion = new Map<number, Map<number, Sum>>();
  for (const [i, x] of surprises.entries()) {
    const session = sessions[i] ?? 0;
    add(all, session, x);
    const region = regions[i] ?? NO_REGION;
    if (region === NO_REGION) continue;
    const own = byRegion.get(region) ?? new Map<number, Sum>();
    byRegion.set(region, own);
    add(own, session, x);
  }
  return {
    all: meansOf(all),
    regions: new Map([...byRegion].map(([region, sums]) => [region, meansOf(sums)])),
  };
}

/** y = x / ln 100 of each session, in [0, 1], as the detectors take them. */
export function detectorScores({ all, regions }: SessionMeans): SessionScores {
  return {
    all: scoresOf(all),
    regions: new Map([...regions].map(([region, means]) => [region, scoresOf(means)])),
  };
}

function scoresOf(means: Float64Array): Float64Array {
  // A mean of several largest surprises may pass them by its last digit.
  return means.map((x) => Math.min(1, x / LARGEST_SURPRISE));
}

export function surpriseTotal(means: Float64Array): SurpriseTotal {
  // In ascending order, so that the order of the sessions does not reach the last digit.
  return { sessions: means.length, sumX: means.toSorted().reduce((sum, x) => sum + x, 0) };
}

interface Sum {
  count: number;
  sum: number;
}

function add(sums: Map<number, Sum>, session: number, x: number): void {
  const sum = sums.get(session);
  if (sum === undefined) sums.set(session, { count: 1, sum: x });
  else {
    sum.count++;
    sum.sum += x;
  }
}

function meansOf(sums: ReadonlyMap<number, Sum>): Float64Array {
  return Float64Array.from(sums.values(), ({ count, sum }) => sum / count);
}
