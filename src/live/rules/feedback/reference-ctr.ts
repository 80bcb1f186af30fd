/** How often a document is clicked at each rank in the pipeline's own baseline: what clicks are expected. */
import { effectiveClusters } from '../sampling/cluster-variance.ts';
import { type ClickedQuery, type InsufficientFeedback, tooFew } from './click-rates.ts';

/** Plain numbers, so that it can be stored with the baseline. */
export interface ReferenceCtr {
  readonly kind: 'reference';
  /** CTR at rank 1, 2, ...; each in (0, 1]. Deeper ranks were shown too seldom to know. */
  readonly rates: readonly number[];
  /** Covariance of the rates, because they are estimates themselves. */
  readonly covariance: readonly (readonly number[])[];
  readonly queries: number;
  readonly sessions: number;
  /** Clicked documents at the ranks of `rates`. */
  readonly clicks: number;
}

/** Ranks that matter in an answer; deeper ones are rarely seen. */
export const DEFAULT_CLICK_CUTOFF = 10;
/** With fewer sessions at a rank its rate has a relative error of a third and more. */
const MIN_SESSIONS = 100;
const MIN_CLICKS = 20;
/** Pseudo-impressions that each rank is given. */
const SMOOTHING = 1;

/**
 * The reference of `clicksOverExpectedClicks`, from a baseline window of the same pipeline.
 *
 * The rate of a rank is (n p + s c) / (n + s): p the weighted share of clicked documents at that rank, n the effective
 * number of sessions that were shown one, c the share over all ranks, and s = 1. This additive smoothing keeps the rate
 * of a rank that nobody clicked above 0, and the sum over all ranks as it was when they were shown equally often.
 *
 * The rates reach down to the last rank, at most `cutoff`, that 100 sessions were shown. The covariance of their
 * weighted shares is that of `sessionRatio`, between ranks.
 *
 * @param queries of the baseline, settled (see `settledUntil`), with the same attribution as later windows
 * @throws RangeError for a probability outside (0, 1], or so small that weights overflow
 */
export function referenceCtr(
  queries: readonly ClickedQuery[],
  cutoff = DEFAULT_CLICK_CUTOFF,
): ReferenceCtr | InsufficientFeedback {
  for (const { probability } of queries) {
    if (!(probability > 0 && probability <= 1)) {
      throw new RangeError(`An inclusion probability must lie in (0, 1], not be ${probability}.`);
    }
  }
  const ranks = shownRanks(queries, cutoff);
  if (ranks.length === 0) {
    return tooFew('sessions', Math.floor(effectiveClusters(shownTo(queries, 1))), MIN_SESSIONS);
  }
  const depth = ranks.length;
  const clicks = queries.reduce((sum, query) => sum + clicksWithin(query, depth), 0);
  if (clicks < MIN_CLICKS) return tooFew('clicks', clicks, MIN_CLICKS);
  const overall = ratioOf(ranks);
  const rates = ranks.map(
    (rank) => (rank.sessions * ratioOf([rank]) + SMOOTHING * overall) / (rank.sessions + SMOOTHING),
  );
  const shown = shownTo(queries, 1);
  return {
    kind: 'reference',
    rates,
    covariance: covarianceOf(shown, ranks),
    queries: shown.length,
    sessions: new Set(shown.map(({ cluster }) => cluster)).size,
    clicks,
  };
}

interface RankTotals {
  /** Effective number. */
  readonly sessions: number;
  /** Weighted. */
  readonly clicks: number;
  readonly impressions: number;
}

/** Clicked documents of a query down to a rank. */
export function clicksWithin({ clickedRanks }: ClickedQuery, depth: number): number {
  return clickedRanks.filter((rank) => rank <= depth).length;
}

function shownTo(queries: readonly ClickedQuery[], rank: number): ClickedQuery[] {
  return queries.filter(({ shown }) => shown >= rank);
}

function shownRanks(queries: readonly ClickedQuery[], cutoff: number): RankTotals[] {
  const totals: RankTotals[] = [];
  for (let rank = 1; rank <= cutoff; rank++) {
    const shown = shownTo(queries, rank);
    const sessions = effectiveClusters(shown);
    if (!Number.isFinite(sessions)) {
      throw new RangeError('A reference CTR overflowed; a probability is too small.');
    }
    if (sessions < MIN_SESSIONS) break;
    let clicks = 0;
    let impressions = 0;
    for (const { probability, clickedRanks } of shown) {
      impressions += 1 / probability;
      if (clickedRanks.includes(rank)) clicks += 1 / probability;
    }
    totals.push({ sessions, clicks, impressions });
  }
  return totals;
}

function ratioOf(totals: readonly RankTotals[]): number {
  const impressions = totals.reduce((sum, total) => sum + total.impressions, 0);
  return totals.reduce((sum, total) => sum + total.clicks, 0) / impressions;
}

function covarianceOf(queries: readonly ClickedQuery[], ranks: readonly RankTotals[]): number[][] {
  const sessions = new Map<string | number, Float64Array>();
  for (const { cluster, probability, shown, clickedRanks } of queries) {
    const residuals = sessions.get(cluster) ?? new Float64Array(ranks.length);
    sessions.set(cluster, residuals);
    for (const [index, rank] of ranks.slice(0, shown).entries()) {
      const clicked = clickedRanks.includes(index + 1) ? 1 : 0;
      const residual = (clicked - rank.clicks / rank.impressions) / (probability * rank.impressions);
      // The part of the smoothed rate that is estimated.
      const share = rank.sessions / (rank.sessions + SMOOTHING);
      residuals[index] = (residuals[index] ?? 0) + share * residual;
    }
  }
  const correction = sessions.size / (sessions.size - 1);
  return ranks.map((_, a) =>
    ranks.map((_, b) => {
      let sum = 0;
      for (const residuals of sessions.values()) sum += (residuals[a] ?? 0) * (residuals[b] ?? 0);
      return correction * sum;
    }),
  );
}

/** Plain JSON. */
export function storeReference(reference: ReferenceCtr): Readonly<Record<string, unknown>> {
  return { ...reference };
}

/** Null for what is not a reference that can be used, as another version may have stored it. */
export function readReference(details: Readonly<Record<string, unknown>>): ReferenceCtr | null {
  const { kind, rates, covariance, queries, sessions, clicks } = details;
  if (kind !== 'reference' || !isNumbers(rates) || rates.length === 0) return null;
  if (!rates.every((rate) => rate > 0 && rate <= 1)) return null;
  if (!Array.isArray(covariance) || covariance.length !== rates.length) return null;
  if (!covariance.every((row) => isNumbers(row) && row.length === rates.length)) return null;
  const counts = [queries, sessions, clicks];
  if (!isNumbers(counts)) return null;
  const [queryCount = 0, sessionCount = 0, clickCount = 0] = counts;
  return {
    kind,
    rates,
    covariance: covariance as number[][],
    queries: queryCount,
    sessions: sessionCount,
    clicks: clickCount,
  };
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isFinite(item));
}
