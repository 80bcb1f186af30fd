/** Admitted live queries -> how well the store covers each, within a budget of searches. */
import type { Clock } from '../../ports/clock.ts';
import type { Deployments } from '../../ports/deployments.ts';
import type { ClaimedQuery, CoverageOutcome, QueryCoverage } from '../../ports/query-coverage.ts';
import { type BookedTurnsDeps, createBookedTurns } from '../booked-turns.ts';
import { type AdmitLiveQueriesDeps, LOOK_BACK_MS } from './admit-live-queries.ts';
import { currentFingerprint } from './fingerprint.ts';
import type { DensityPlan } from './plan.ts';
import { searchCoverage } from './search-coverage.ts';

export interface MeasureCoverageDeps extends BookedTurnsDeps, AdmitLiveQueriesDeps {
  readonly coverage: QueryCoverage;
  readonly deployments: Pick<Deployments, 'fingerprints'>;
}

/** How long a round goes on taking queries; the next minute goes on from there. */
export const ROUND_MS = 50_000;
const BATCH = 64;
const CONCURRENCY = 8;
const LEASE_MS = 120_000;
/** With waits that double up to ten minutes: about an hour and a half. */
const MOST_ATTEMPTS = 12;
const RETRY_MS = 30_000;
const LONGEST_RETRY_MS = 600_000;

export interface CoverageRound {
  /** Nothing is taken after it. */
  readonly endsAt: Date;
  /** Called once at most, as soon as it shows that there is work for more than one. */
  callHelp(): Promise<void>;
}

/**
 * Measures what was admitted, in every pipeline at once. Any number of workers may do it together: each query has one
 * row, and is taken by one of them; the budget of searches holds over all of them.
 *
 * @throws the first failure, after all pipelines were tried; the reason of `signal` when it aborts
 */
export async function measureCoverage(
  deps: MeasureCoverageDeps,
  round: CoverageRound,
  signal: AbortSignal,
): Promise<void> {
  let help: Promise<void> | null = null;
  const callHelp = (): Promise<void> => (help ??= round.callHelp());
  const results = await Promise.allSettled(
    deps.plans.map((plan) => measurePipeline(deps, plan, { ...round, callHelp }, signal)),
  );
  signal.throwIfAborted();
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function measurePipeline(
  deps: MeasureCoverageDeps,
  plan: DensityPlan,
  round: CoverageRound,
  signal: AbortSignal,
): Promise<void> {
  const { coverage, clock } = deps;
  const { pipeline } = plan;
  const leftMs = Math.min(ROUND_MS, round.endsAt.getTime() - clock.now().getTime());
  const stopAt = clock.monotonicMs() + leftMs;
  const settled = (await coverage.admissions()).find((one) => one.pipeline === pipeline);
  if (settled === undefined) return;
  const from = new Date(settled.until.getTime() - LOOK_BACK_MS);
  const { key: fingerprint } = await currentFingerprint(deps.deployments, pipeline, plan.k);
  const pace = createCoveragePace(deps, plan);
  // A batch must be done within its lease, whatever the budget.
  const limit = Math.max(1, Math.min(BATCH, Math.floor((plan.maxPerSecond * LEASE_MS) / 4000)));
  while (clock.monotonicMs() < stopAt) {
    signal.throwIfAborted();
    const now = clock.now();
    const leaseUntil = new Date(now.getTime() + LEASE_MS);
    const claimed = await coverage.claim({ pipeline, from, until: settled.until, limit, now, leaseUntil });
    if (claimed.length === 0) return;
    if (claimed.length === limit) await round.callHelp();
    const outcomes = await measureBatch(deps, plan, claimed, pace, signal);
    await coverage.record(pipeline, outcomes, { fingerprint, now: clock.now() });
    // A service that is down is asked again in the next minute, not by every query that waits.
    if (outcomes.every(({ kind }) => kind === 'later')) return;
  }
}

/** What the queries of one batch share. */
interface Batch {
  readonly plan: DensityPlan;
  readonly clock: Clock;
  readonly embedded: Embedded;
  /** Waits for a turn of the budget of searches. */
  readonly pace: Pace;
  readonly signal: AbortSignal;
  /** What the store said to searches that failed. */
  readonly failures: string[];
}

type Pace = (signal: AbortSignal) => Promise<void>;

/** Held over all workers; a pipeline name has no space, so it meets no pace of a retriever. */
function createCoveragePace(deps: MeasureCoverageDeps, { pipeline, maxPerSecond }: DensityPlan): Pace {
  const nextTurn = createBookedTurns(deps, { name: `${pipeline} coverage`, perSecond: () => maxPerSecond });
  return async (signal) => {
    const waitMs = (await nextTurn()) - deps.clock.monotonicMs();
    if (waitMs > 0) await deps.clock.sleep(waitMs, signal);
  };
}

async function measureBatch(
  deps: MeasureCoverageDeps,
  plan: DensityPlan,
  claimed: readonly ClaimedQuery[],
  pace: Pace,
  signal: AbortSignal,
): Promise<CoverageOutcome[]> {
  const embedded = await embedMissing(deps, plan, claimed, signal);
  const batch: Batch = { plan, clock: deps.clock, embedded, pace, signal, failures: [] };
  const outcomes: CoverageOutcome[] = [];
  const remaining = claimed.values();
  const work = async (): Promise<void> => {
    for (const query of remaining) outcomes.push(await measureOne(batch, query));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const { failures } = batch;
  if (failures.length > 0) {
    deps.logger.warn('live queries could not be searched in the vector store', {
      pipeline: plan.pipeline,
      queries: failures.length,
      reason: failures[0],
    });
  }
  return outcomes;
}

type Embedded =
  | { readonly kind: 'vectors'; readonly byId: ReadonlyMap<string, Float32Array> }
  | { readonly kind: 'failed' };

async function embedMissing(
  { logger }: MeasureCoverageDeps,
  { pipeline, embedder }: DensityPlan,
  claimed: readonly ClaimedQuery[],
  signal: AbortSignal,
): Promise<Embedded> {
  const missing = claimed.flatMap(({ id, receivedOn, vector, text }) =>
    vector === null && text !== null ? [{ key: `${receivedOn} ${id}`, text }] : [],
  );
  if (embedder === null || missing.length === 0) return { kind: 'vectors', byId: new Map() };
  const answer = await embedder.embed(
    missing.map(({ text }) => text),
    signal,
  );
  if (answer.kind === 'failed') {
    logger.warn('live queries could not be embedded', { pipeline, reason: answer.message });
    return { kind: 'failed' };
  }
  const byId = new Map(
    missing.flatMap(({ key }, i) => {
      const vector = answer.vectors[i];
      return vector === undefined ? [] : [[key, vector] as const];
    }),
  );
  return { kind: 'vectors', byId };
}

async function measureOne(
  { plan: { store, embedder, k }, clock, embedded, pace, signal, failures }: Batch,
  query: ClaimedQuery,
): Promise<CoverageOutcome> {
  const { receivedOn, id } = query;
  const later = (reason: string): CoverageOutcome => {
    if (query.attempts + 1 >= MOST_ATTEMPTS) return { receivedOn, id, kind: 'not_measurable', reason };
    const dueAt = new Date(
      clock.now().getTime() + Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** query.attempts),
    );
    return { receivedOn, id, kind: 'later', reason, dueAt };
  };
  const isToEmbed = query.vector === null && query.text !== null && embedder !== null;
  if (isToEmbed && embedded.kind === 'failed') return later('embedder_failed');
  const embedding = embedded.kind === 'vectors' ? (embedded.byId.get(`${receivedOn} ${id}`) ?? null) : null;
  const vector = query.vector ?? embedding;
  if (vector === null) return { receivedOn, id, kind: 'not_measurable', reason: 'no_vector' };
  await pace(signal);
  const found = await searchCoverage(store, vector, k, signal);
  if (found.kind === 'measured') return { receivedOn, id, ...found, embedding };
  if (found.kind === 'not_measurable') return { receivedOn, id, ...found };
  failures.push(found.message);
  return later('store_failed');
}
