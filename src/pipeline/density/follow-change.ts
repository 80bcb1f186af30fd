/** What is measured with changed: an annotated new reference, never drift. */

import { completedFingerprint, knownDifferences } from '../../core/drift/baseline/measurement-fingerprint.ts';
import {
  type FingerprintField,
  type Replay,
  rebaselineDecision,
} from '../../core/drift/baseline/rebaseline-rule.ts';
import { type RepeatedSearch, searchCanary } from '../../core/drift/cause/canary.ts';
import { equalChance } from '../../core/drift/coverage/equal-chance.ts';
import { drawn } from '../../core/stats/draw.ts';
import { rowOf } from '../../core/vector/matrix.ts';
import type { DensityState, NewDensityEvent, WatchingPhase } from '../../ports/density-states.ts';
import type { Deployments } from '../../ports/deployments.ts';
import type { QueryCoverage } from '../../ports/query-coverage.ts';
import { createPace } from '../pace.ts';
import type { BuildBaselineDeps } from './build-baseline.ts';
import { currentFingerprint } from './fingerprint.ts';
import { learningState } from './learn.ts';
import { type NextStep, quietStep } from './next-step.ts';
import type { DensityPlan } from './plan.ts';
import { searchCoverage } from './search-coverage.ts';

export interface FollowChangeDeps extends BuildBaselineDeps {
  readonly coverage: QueryCoverage;
  readonly deployments: Pick<Deployments, 'fingerprints'>;
  /** Looks at store and embedder, and notes what they are made of. */
  lookAgain(plan: DensityPlan, signal: AbortSignal): Promise<void>;
}

/** Vectors of before are of no use with the embedding of now. */
const OF_EMBEDDING: ReadonlySet<FingerprintField> = new Set([
  'embeddingModel',
  'embeddingRevision',
  'dimension',
  'normalisation',
  'queryPrefix',
]);

/** Kept baseline queries that are searched twice: enough for a mean change of 0.01. */
const REPEATED_SEARCHES = 300;
/** Queries of the baseline period that are searched anew: percentiles of more are hardly sharper. */
const MOST_REPLAYED = 5_000;
const DAY_MS = 86_400_000;
const SEED = 1;

/**
 * Follows a change of index or embedder. A new index of the same model keeps the baseline when the kept baseline
 * queries find the same in it; otherwise the queries of the baseline are searched anew, from their texts when the
 * embedding changed, and the watch rests until they are.
 *
 * @returns null without a change; `wait` when the store could not be asked, and nothing may be said of coverage
 */
export async function followChange(
  deps: FollowChangeDeps,
  plan: DensityPlan,
  state: DensityState,
  signal: AbortSignal,
): Promise<NextStep | null | 'wait'> {
  const { fields } = await currentFingerprint(deps.deployments, plan.pipeline, plan.k);
  const changed = knownDifferences(state.fingerprint, fields);
  const fingerprint = completedFingerprint(state.fingerprint, fields);
  if (changed.length === 0) {
    return hasMore(fingerprint, state) ? quietStep({ ...state, fingerprint }) : null;
  }
  const now = deps.clock.now();
  const { phase } = state;
  if (phase.kind === 'learning') {
    const event = changeEvent(plan, changed, now, 'The baseline is learnt from now on.', {});
    return { ...quietStep(learningState(fingerprint, now.getTime())), events: [event] };
  }
  if (phase.kind === 'watching' && rebaselineDecision(changed, null, null).action === 'replay') {
    const replay = await searchKeptQueries(deps, plan, phase, signal);
    if (replay === 'failed') return 'wait';
    if (replay !== null && rebaselineDecision(changed, null, replay).action === 'keep') {
      const told = `${replay.queries} baseline queries find the same as before, so that the baseline stays.`;
      const event = changeEvent(plan, changed, now, told, replayDetails(replay));
      return { ...quietStep({ ...state, fingerprint }), events: [event] };
    }
  }
  return startReplay(deps, plan, { ...state, fingerprint }, changed, now);
}

function hasMore(fingerprint: DensityState['fingerprint'], { fingerprint: before }: DensityState): boolean {
  return JSON.stringify(fingerprint) !== JSON.stringify(before);
}

type KeptReplay = Replay & { readonly queries: number };

async function searchKeptQueries(
  { baselines, clock }: FollowChangeDeps,
  plan: DensityPlan,
  { baselineVersion }: WatchingPhase,
  signal: AbortSignal,
): Promise<KeptReplay | null | 'failed'> {
  const kept = await baselines.kept(plan.pipeline, baselineVersion, 'sample');
  const pace = createPace(clock, plan.maxPerSecond);
  const searches: RepeatedSearch[] = [];
  for (const row of drawn([...kept.queries.keys()], REPEATED_SEARCHES, SEED)) {
    const query = kept.queries[row];
    if (query === undefined) continue;
    await pace(signal);
    const found = await searchCoverage(plan.store, rowOf(kept.vectors, row), plan.k, signal);
    if (found.kind === 'failed') return 'failed';
    if (found.kind === 'not_measurable') continue;
    searches.push({
      before: { chunks: query.nearest.map(([id]) => id), score: query.score },
      after: { chunks: found.nearest.map(([id]) => id), score: found.score },
    });
  }
  if (searches.length === 0) return null;
  const { meanOverlap, meanScoreChange } = searchCanary(searches, plan.k);
  return { meanOverlap, meanScoreChange, queries: searches.length };
}

function replayDetails({ queries, meanOverlap, meanScoreChange }: KeptReplay) {
  return { kept: true, replayed: queries, mean_overlap: meanOverlap, mean_score_change: meanScoreChange };
}

async function startReplay(
  deps: FollowChangeDeps,
  plan: DensityPlan,
  state: DensityState,
  changed: readonly FingerprintField[],
  now: Date,
): Promise<NextStep> {
  const { phase } = state;
  const startedMs = now.getTime();
  const version = phase.kind === 'learning' ? null : phase.baselineVersion;
  const period = version === null ? null : await replayPeriod(deps, plan, state, version, now);
  const fromText = changed.some((field) => OF_EMBEDDING.has(field));
  const reopened =
    period === null ? 0 : await deps.coverage.reopen(period, { chance: period.chance, fromText, now });
  if (version === null || period === null || reopened === 0) {
    const told = 'No query of the baseline is kept, so that a new one is learnt from now on.';
    const event = changeEvent(plan, changed, now, told, {});
    return { ...quietStep(learningState(state.fingerprint, startedMs)), events: [event] };
  }
  const told = `${reopened} baseline queries are searched anew; the alarm rests until then.`;
  return {
    state: {
      ...state,
      sinceMs: startedMs,
      closedMs: startedMs,
      phase: {
        kind: 'replaying',
        baselineVersion: version,
        fromMs: period.from.getTime(),
        untilMs: period.until.getTime(),
        startedMs,
        reason: `a change of ${changed.map(nameOf).join(', ')}`,
      },
    },
    windows: [],
    events: [changeEvent(plan, changed, now, told, { replayed: reopened })],
    outcomes: [],
  };
}

/** The period of the baseline while its queries are kept, else the last days, unless something is wrong with them. */
async function replayPeriod(
  { baselines, coverage }: FollowChangeDeps,
  { pipeline, needs }: DensityPlan,
  { phase }: DensityState,
  version: number,
  now: Date,
) {
  const stored = await baselines.find(pipeline, version);
  const hasIncident =
    phase.kind === 'watching' && Object.values(phase.alarms).some(({ incident }) => incident !== null);
  const recent = { from: new Date(now.getTime() - needs.days * DAY_MS), until: now };
  for (const { from, until } of [
    ...(stored === null ? [] : [stored.baseline.period]),
    ...(hasIncident ? [] : [recent]),
  ]) {
    const period = { pipeline, from, until, scoredSince: null };
    const equal = equalChance((await coverage.tally(period)).chances, MOST_REPLAYED);
    if (equal !== null) return { ...period, chance: equal.chance };
  }
  return null;
}

function changeEvent(
  { pipeline }: DensityPlan,
  changed: readonly FingerprintField[],
  occurredAt: Date,
  consequence: string,
  details: Readonly<Record<string, unknown>>,
): NewDensityEvent {
  const names = changed.map(nameOf).join(', ');
  return {
    kind: 'reset',
    occurredAt,
    sentence: `What the density of ${pipeline} is measured with changed (${names}); this is no drift. ${consequence}`,
    details: { changed, ...details },
  };
}

const fieldNames: Readonly<Partial<Record<FingerprintField, string>>> = {
  embeddingModel: 'embedding model',
  embeddingRevision: 'vectors of the embedding model',
  dimension: 'dimension of the vectors',
  indexType: 'index',
  metric: 'metric of the index',
};

function nameOf(field: FingerprintField): string {
  return fieldNames[field] ?? field;
}
