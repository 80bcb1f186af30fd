/**
 * Handles a change to the store, index or embedder. Such a change may require a new baseline, but never fires a drift
 * alert.
 */

import type { Context } from '../core/context.ts';
import { DAY_MS } from '../core/time.ts';
import type { LatestRun } from '../golden/sql/latest-runs.ts';
import { probeEmbedder, probeStore } from '../index/probes/probe-connectors.ts';
import { fingerprintOf } from '../live/deployments/rules/deployment.ts';
import { drawn } from '../math/stats/random.ts';
import { rowOf } from '../math/vector/matrix.ts';
import type { DensityPlan, DensityRun } from './plan.ts';
import {
  allowsComparison,
  completedFingerprint,
  type FingerprintField,
  fingerprintDifferences,
  knownDifferences,
  measurementFingerprint,
  type Replay,
  replayAgrees,
  searchCanary,
} from './rules/measurement-change.ts';
import { coverageScore } from './rules/query-score.ts';
import { equalChance } from './rules/sessions.ts';
import { hasIncident } from './rules/watch.ts';
import type { DensityPhase, DensityState, WatchObservation } from './rules/watch-state.ts';
import { KEPT_CHUNKS, openSearch, searchCoverage, searchRateLimit } from './search-store.ts';

/** Fingerprint fields whose change makes earlier query vectors unusable. */
const OF_EMBEDDING: ReadonlySet<FingerprintField> = new Set(['embeddingModel', 'embeddingRevision', 'dimension']);

/** Number of baseline queries that are searched in a new index: enough to detect a mean score change of 0.01. */
const REPEATED_SEARCHES = 300;
/** Maximum number of queries replayed for a new baseline; more would hardly improve percentiles. */
const MAX_REPLAYED = 5_000;
const SEED = 1;

type Consequence = Extract<WatchObservation, { kind: 'measurement_changed' }>['consequence'];

/**
 * Returns the combined fingerprint of the index and the embedder (`fields`), and a hash of these fields (`key`). The
 * fingerprint comes from the latest probes.
 */
export async function currentFingerprint({ db }: Context, { pipeline }: DensityPlan) {
  const fingerprints = (await db.live.deployments.fingerprints()).filter((one) => one.pipeline === pipeline);
  const traitsOf = (name: 'index' | 'embedder') =>
    fingerprints.find(({ component }) => component === name)?.traits ?? null;
  const fields = measurementFingerprint({ index: traitsOf('index'), embedder: traitsOf('embedder') });
  return { fields, key: fingerprintOf({ ...fields }) };
}

/**
 * Detects changes to the index or embedder. If only the index changed, and retained baseline queries find the same
 * chunks in the new index, keeps the baseline. Otherwise, reopens the baseline queries so that they are searched again,
 * and pauses monitoring until this replay has ended. If the model changed, the replay embeds the texts of the queries
 * again.
 *
 * @returns null if nothing changed; `unknown` if the store did not respond, so coverage cannot be evaluated
 */
export async function observeChange(
  run: DensityRun,
  { phase, fingerprint: before }: DensityState,
): Promise<WatchObservation | null | 'unknown'> {
  const { fields } = await currentFingerprint(run.context, run.plan);
  const changed = knownDifferences(before, fields);
  const fingerprint = completedFingerprint(before, fields);
  if (changed.length === 0) {
    const isKnown = fingerprintDifferences(before, fingerprint).length === 0;
    return isKnown ? null : { kind: 'measurement_identified', fingerprint };
  }
  const at = run.context.clock.now();
  const consequence = await consequenceOf(run, phase, changed, at);
  return consequence === 'unknown'
    ? consequence
    : { kind: 'measurement_changed', fingerprint, changed, at, consequence };
}

async function consequenceOf(
  run: DensityRun,
  phase: DensityPhase,
  changed: readonly FingerprintField[],
  now: Date,
): Promise<Consequence | 'unknown'> {
  if (phase.kind === 'learning') return { kind: 'learn' };
  const { baselineVersion } = phase;
  if (phase.kind === 'watching' && allowsComparison(changed)) {
    const searched = await searchRetained(run, baselineVersion);
    if (searched === 'failed') return 'unknown';
    if (searched !== null && replayAgrees(searched)) return { kind: 'keep', searched };
  }
  const period = await replayPeriod(run, phase, baselineVersion, now);
  if (period === null) return { kind: 'learn' };
  const fromText = changed.some((field) => OF_EMBEDDING.has(field));
  const queries = await run.context.db.density.coverage.reopen(period, { chance: period.chance, fromText, now });
  if (queries === 0) return { kind: 'learn' };
  return { kind: 'replay', queries, baselineVersion, from: period.from, until: period.until };
}

async function searchRetained(
  { context, plan, signal }: DensityRun,
  baselineVersion: number,
): Promise<Replay | null | 'failed'> {
  const { db } = context;
  const [stored, retained] = await Promise.all([
    db.density.baselines.find(plan.pipeline, baselineVersion),
    db.density.baselines.retained(plan.pipeline, baselineVersion, 'sample'),
  ]);
  if (stored === null) return null;
  const { storeMean } = stored;
  const turn = searchRateLimit(context, plan);
  const search = openSearch(plan.store, signal);
  const searches: Parameters<typeof searchCanary>[0][number][] = [];
  for (const row of drawn([...retained.queries.keys()], REPEATED_SEARCHES, SEED)) {
    const query = retained.queries[row];
    if (query === undefined) continue;
    await turn(signal);
    const vector = rowOf(retained.vectors, row);
    const found = await searchCoverage(search, vector);
    if (found.kind === 'failed') return 'failed';
    if (found.kind === 'not_measurable') continue;
    searches.push({
      before: { chunks: query.nearest.map(([id]) => id), score: query.score },
      after: {
        chunks: found.nearest.map(([id]) => id),
        score: coverageScore(found.similarity, vector, storeMean),
      },
    });
  }
  if (searches.length === 0) return null;
  return searchCanary(searches, KEPT_CHUNKS);
}

/**
 * Returns the period of the queries to replay: the baseline period, if its queries are still stored. Otherwise, if no
 * incident is open, returns the latest days, as many as a baseline requires. Returns null if no queries were found.
 */
async function replayPeriod({ context, plan }: DensityRun, phase: DensityPhase, version: number, now: Date) {
  const { pipeline, needs } = plan;
  const { baselines, coverage } = context.db.density;
  const stored = await baselines.find(pipeline, version);
  const recent = { from: new Date(now.getTime() - needs.days * DAY_MS), until: now };
  for (const { from, until } of [
    ...(stored === null ? [] : [stored.baseline.period]),
    ...(hasIncident(phase) ? [] : [recent]),
  ]) {
    const period = { pipeline, from, until, scoredSince: null };
    const chance = equalChance((await coverage.tally(period)).chances, MAX_REPLAYED);
    if (chance !== null) return { ...period, chance };
  }
  return null;
}

/** Probes store and embedder, and records their fingerprints. */
export async function probeConnectors({ context, plan, signal }: DensityRun): Promise<void> {
  const { pipeline, store, embedder } = plan;
  await probeStore(context, pipeline, store, signal);
  if (embedder !== null) await probeEmbedder(context, pipeline, embedder, signal);
}

/**
 * Uses golden queries as a control group: they never change, so a drop in their scores is due to the store. Returns
 * true if any measure over all queries is significantly below its baseline in the latest golden runs, which means that
 * the whole 95 % CI of the difference is below 0. Returns null if no run was compared.
 */
export function hasGoldenDropped(latest: readonly LatestRun[], pipeline: string): boolean | null {
  const compared = latest
    .filter((run) => run.pipeline === pipeline)
    .flatMap((run) => run.completed?.baseline?.differences ?? []);
  return compared.length === 0 ? null : compared.some(({ ciHigh }) => ciHigh < 0);
}
