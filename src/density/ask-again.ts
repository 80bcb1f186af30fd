/** Asks queries of the baseline again, a few at a time: what the store lost shows in them at once, and nothing else does. */
import { gapNow, valueNow } from '../probes/probes.ts';
import { HOUR_MS, MINUTE_MS } from '../time.ts';
import { rowOf } from '../vector/matrix.ts';
import type { DensityDeps } from './dependencies.ts';
import type { DensityPlan } from './plan.ts';
import { coverageScore } from './rules/query-score.ts';
import { repeatDensity } from './rules/repeat-density.ts';
import { createRateLimiter, searchCoverage } from './search-store.ts';
import type { WatchTable } from './watch-table.ts';

const MEASURE = 'repeat_density';

/** A hundred an hour, a round every five minutes. */
const ROUND_MS = 5 * MINUTE_MS;
const PER_ROUND = 9;
/** A round may be early by what its job was late before. */
const LATE_MS = MINUTE_MS / 2;

/**
 * Searches those queries of the baseline again that wait longest, a hundred an hour, and measures `repeat_density` from
 * those of the last hour. A pipeline without a baseline is passed over, and so is one whose last round was just now.
 * What the store does not answer is asked in the next round, and the measure says so.
 */
export async function askAgain(
  deps: Pick<DensityDeps, 'tables' | 'measurements' | 'clock' | 'logger'>,
  plan: DensityPlan,
  signal: AbortSignal,
): Promise<void> {
  const { tables, measurements, clock, logger } = deps;
  const { pipeline } = plan;
  const version = watchedBaseline(await tables.watch.find(pipeline));
  if (version === null) return;
  const now = clock.now();
  const anHourAgo = new Date(now.getTime() - HOUR_MS);
  const lastRound = new Date(now.getTime() - ROUND_MS + LATE_MS);
  if ((await tables.baselines.askedAgain(pipeline, version, lastRound)).length > 0) return;
  const due = await tables.baselines.toAskAgain(pipeline, version, anHourAgo, PER_ROUND);
  const pace = createRateLimiter(clock, plan.maxPerSecond);
  const stored = await tables.baselines.find(pipeline, version);
  if (stored === null) return;
  const { storeMean } = stored;
  const found: { id: string; score: number | null }[] = [];
  for (const [row, { id }] of due.queries.entries()) {
    await pace(signal);
    const vector = rowOf(due.vectors, row);
    const searched = await searchCoverage(plan.store, vector, signal);
    if (searched.kind === 'failed') {
      const { message } = searched;
      logger.warn('baseline queries could not be asked again', { pipeline, reason: message });
      await measurements.record([gapNow(pipeline, MEASURE, now, 'store_failed', { message })]);
      return;
    }
    const isMeasured = searched.kind === 'measured';
    found.push({ id, score: isMeasured ? coverageScore(searched.similarity, vector, storeMean) : null });
  }
  if (found.length === 0) return;
  await tables.baselines.recordAskedAgain({ pipeline, version }, found, now);
  const pairs = await tables.baselines.askedAgain(pipeline, version, anHourAgo);
  if (pairs.length === 0) return;
  const { density: value, queries: n, fell, ...bounds } = repeatDensity(pairs, stored.baseline.scores);
  await measurements.record([valueNow(pipeline, MEASURE, now, { value, n, ...bounds, details: { fell } })]);
}

/** The baseline that live queries are held against; null while there is none, or another is being made. */
function watchedBaseline(stored: Awaited<ReturnType<WatchTable['find']>>): number | null {
  return stored?.state.phase.kind === 'watching' ? stored.state.phase.baselineVersion : null;
}
