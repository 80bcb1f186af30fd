/** What lies behind an alarm: how much is uncovered, where, whether the questions are new, and what the store lost. */
import type { AlarmEvent } from '../../core/drift/alarm/alarm-policy.ts';
import { type CauseReading, readCause } from '../../core/drift/cause/cause-reading.ts';
import { type Novelty, noveltyOf } from '../../core/drift/cause/novelty.ts';
import type { PooledDensity } from '../../core/drift/coverage/pooled-density.ts';
import {
  densityOf,
  UNCOVERED_PERCENTILE,
  type UncoveredShare,
  uncoveredShareOf,
} from '../../core/drift/coverage/query-density.ts';
import { type RegionRow, regionTable } from '../../core/drift/coverage/region-table.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { matrixOf, rowOf } from '../../core/vector/matrix.ts';
import type { DensityBaselines, KeptQueries, StoredBaseline } from '../../ports/density-baselines.ts';
import type { DensityCompute } from '../../ports/density-compute.ts';
import type { ClosedWindow } from '../../ports/density-states.ts';
import type { Logger } from '../../ports/telemetry.ts';
import { findLostChunks, type LostChunks } from './lost-chunks.ts';
import { type ReadTrafficDeps, readTraffic } from './read-traffic.ts';
import type { DensityReference } from './reference.ts';

export interface InvestigateDeps extends ReadTrafficDeps {
  readonly baselines: Pick<DensityBaselines, 'kept'>;
  readonly compute: DensityCompute;
  readonly logger: Logger;
  /** Whether golden queries are retrieved worse than in their baseline; null when nobody knows. */
  goldenFell(pipeline: string): Promise<boolean | null>;
}

export interface Investigation {
  readonly uncovered: UncoveredShare;
  /** Most of the fall first. */
  readonly regions: readonly RegionRow[];
  readonly novelty: Novelty | null;
  readonly reading: CauseReading;
  /** Chunks that baseline queries found and that the store no longer holds; null when nobody looked, or could. */
  readonly lost: LostChunks | null;
}

const MOST_QUERIES = 1_000;

/**
 * Investigates a raised alarm over the time that its size was measured over.
 *
 * When the questions are like those of the baseline, or the golden queries fell, the store is suspected, and the chunks
 * that the baseline queries found are looked for in it.
 */
export async function investigate(
  deps: InvestigateDeps,
  reference: DensityReference,
  event: Extract<AlarmEvent, { kind: 'raised' }>,
  history: readonly ClosedWindow[],
  signal: AbortSignal,
): Promise<Investigation> {
  const { plan, stored } = reference;
  const pooled = history.filter(({ startMs }) => startMs >= event.size.startMs);
  const uncovered = uncoveredOf(pooled);
  const sample = await deps.baselines.kept(plan.pipeline, stored.version, 'sample');
  const compared = await compareQuestions(deps, reference, sample, event.size, signal);
  const novelty =
    compared === null ? null : noveltyOf(compared.familiarity, compared.novelBelow, uncovered.excess);
  const trafficChanged = novelty?.explains ?? false;
  const goldenFell = await deps.goldenFell(plan.pipeline);
  const isStoreSuspected = !trafficChanged || goldenFell === true;
  const lost = isStoreSuspected ? await findLostChunks(deps, plan, sample.queries, signal) : null;
  const reading = readCause({
    densityFell: true,
    trafficChanged,
    goldenFell,
    chunksMissing: lost === null ? null : lost.missing > 0,
    canary: null,
  });
  return { uncovered, regions: regionsOf(pooled, stored), novelty, reading, lost };
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

/** One question of each session since the coverage fell, against those of the baseline; null without any. */
async function compareQuestions(
  deps: InvestigateDeps,
  { stored: { baseline, pipeline }, scoredSince }: DensityReference,
  sample: KeptQueries,
  size: PooledDensity,
  signal: AbortSignal,
): ReturnType<DensityCompute['compareWithBaseline']> {
  const period = { pipeline, from: new Date(size.startMs), until: new Date(size.endMs), scoredSince };
  const settings = { most: 2 * MOST_QUERIES, columns: baseline.regions.columns };
  const traffic = await readTraffic(deps, period, settings, signal);
  const seen = new Set<string>();
  const rows = traffic.queries.flatMap(({ id, session, row }) => {
    const name = session ?? `query ${id}`;
    if (row === null || seen.has(name)) return [];
    seen.add(name);
    return [row];
  });
  const queries = matrixOf(rows.slice(0, MOST_QUERIES).map((row) => rowOf(traffic.vectors, row)));
  if (queries.rows === 0) return null;
  return deps.compute.compareWithBaseline(queries, sample.vectors, signal);
}
