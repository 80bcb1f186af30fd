/** What lies behind an alarm: how much is uncovered, where, whether the questions are new, and what the store lost. */

import { ALL_SEGMENT } from '../model.ts';
import { matrixOf, rowOf } from '../vector/matrix.ts';
import type { RetainedQueries, StoredBaseline } from './baselines-table.ts';
import type { DensityCompute } from './compute.ts';
import type { CoveragePeriod } from './coverage-reads.ts';
import type { DensityDeps } from './dependencies.ts';
import type { DensityPlan } from './plan.ts';
import { noveltyOf, readCause } from './rules/cause.ts';
import {
  densityOf,
  UNCOVERED_PERCENTILE,
  type UncoveredShare,
  uncoveredShareOf,
} from './rules/query-density.ts';
import { type RegionRow, regionTable } from './rules/regions.ts';
import { raisedEvent } from './rules/watch-sentences.ts';
import type { AlarmToInvestigate, ClosedWindow, NewDensityEvent } from './rules/watch-state.ts';
import { findLostChunks } from './search-store.ts';
import { readTraffic, timeOf } from './traffic.ts';

const MAX_QUERIES = 1_000;

/**
 * Investigates a raised alarm over the time that its size was measured over.
 *
 * When the questions are like those of the baseline, or the golden queries fell, the store is suspected, and the chunks
 * that the baseline queries found are looked for in it.
 *
 * @param sinceMs measurements before then cannot be compared; null when all can
 * @returns the event that tells of the alarm and what is behind it
 */
export async function investigateAlarm(
  deps: DensityDeps,
  plan: DensityPlan,
  alarm: AlarmToInvestigate,
  sinceMs: number | null,
  signal: AbortSignal,
): Promise<NewDensityEvent> {
  const { pipeline } = plan;
  const { raised, baselineVersion } = alarm;
  const stored = await deps.tables.baselines.find(pipeline, baselineVersion);
  if (stored === null) throw new Error(`the density baseline ${baselineVersion} of ${pipeline} is gone`);
  const pooled = alarm.history.filter(({ startMs }) => startMs >= raised.size.startMs);
  const uncovered = uncoveredOf(pooled);
  const sample = await deps.tables.baselines.retained(pipeline, baselineVersion, 'sample');
  const { startMs, endMs } = raised.size;
  const from = new Date(startMs);
  const period = { pipeline, from, until: new Date(endMs), scoredSince: timeOf(sinceMs) };
  const compared = await compareQuestions(deps, stored, sample, period, signal);
  const novelty =
    compared === null ? null : noveltyOf(compared.familiarity, compared.novelBelow, uncovered.excess);
  const trafficChanged = novelty?.explains ?? false;
  const goldenFell = await deps.goldenFell(pipeline);
  const isStoreSuspected = !trafficChanged || goldenFell === true;
  const lost = isStoreSuspected ? await findLostChunks(deps, plan, sample.queries, signal) : null;
  const reading = readCause({
    densityFell: true,
    trafficChanged,
    goldenFell,
    chunksMissing: lost === null ? null : lost.missing > 0,
    canary: null,
  });
  const regions = regionsOf(pooled, stored);
  return raisedEvent(pipeline, alarm, { uncovered, regions, novelty, reading, lost });
}

function uncoveredOf(windows: readonly ClosedWindow[]): UncoveredShare {
  let sessions = 0;
  let sum = 0;
  for (const { segments } of windows) {
    sessions += segments[ALL_SEGMENT]?.sessions ?? 0;
    sum += segments[ALL_SEGMENT]?.sumUncovered ?? 0;
  }
  return uncoveredShareOf(
    Math.min(1, sum / Math.max(1, sessions)),
    Math.max(1, sessions),
    UNCOVERED_PERCENTILE,
  );
}

/** Sessions with queries in several regions count in each, so that the shares are of the sum. */
function regionsOf(windows: readonly ClosedWindow[], { baseline }: StoredBaseline): readonly RegionRow[] {
  const sums = new Map<number, { sessions: number; sumX: number }>();
  let all = 0;
  for (const { totals } of windows) {
    for (const { region, sessions, sumX } of totals.regions) {
      const own = sums.get(region) ?? { sessions: 0, sumX: 0 };
      sums.set(region, { sessions: own.sessions + sessions, sumX: own.sumX + sumX });
      all += sessions;
    }
  }
  const regions = [...sums].map(([region, { sessions, sumX }]) => {
    const meanX = sumX / sessions;
    return { region, weight: sessions, share: sessions / all, meanX, density: densityOf(meanX) };
  });
  return regionTable({ regions }, baseline.regionShares);
}

/** One question of each session of the time since the coverage fell, against those of the baseline; null without any. */
async function compareQuestions(
  deps: DensityDeps,
  { baseline }: StoredBaseline,
  sample: RetainedQueries,
  period: CoveragePeriod,
  signal: AbortSignal,
): ReturnType<DensityCompute['compareWithBaseline']> {
  const settings = { most: 2 * MAX_QUERIES, columns: baseline.regions.columns };
  const traffic = await readTraffic(deps, period, settings, signal);
  const seen = new Set<string>();
  const rows = traffic.queries.flatMap(({ id, session, row }) => {
    const name = session ?? `query ${id}`;
    if (row === null || seen.has(name)) return [];
    seen.add(name);
    return [row];
  });
  const queries = matrixOf(rows.slice(0, MAX_QUERIES).map((row) => rowOf(traffic.vectors, row)));
  if (queries.rows === 0) return null;
  return deps.compute.compareWithBaseline(queries, sample.vectors, signal);
}
