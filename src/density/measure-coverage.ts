import { CONCURRENCY } from '../connectors/stores/search-each.ts';
import type { Context } from '../core/context.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { type Admission, admissionChance, nextAdmission, openAdmission } from '../live/rules/sampling/admission.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import type { ClaimedQuery, CoverageOutcome, QueryKey } from './coverage-table.ts';
import { currentFingerprint } from './observe-change.ts';
import type { DensityPlan, DensityRun } from './plan.ts';
import { openSearch, searchCoverage, searchRateLimit } from './search-store.ts';

/** Duration of a round; a round starts every minute and continues where the previous one ended. */
export const ROUND_MS = 50_000;
const BATCH = 64;
const LEASE_MS = 120_000;
/**
 * Maximum number of search attempts. The delay doubles after each attempt until it reaches ten minutes, so the attempts
 * span about 75 minutes.
 */
const MAX_ATTEMPTS = 12;
const RETRY_MS = 30_000;
const MAX_RETRY_MS = 600_000;

/**
 * Measures admitted queries in all pipelines concurrently. Several workers may call this function at the same time:
 * each query is claimed by only one worker, and the search budget applies to all workers together.
 *
 * @param endsAt no query is claimed after this time
 * @param request called at most once, if there is work for another worker
 * @throws the errors of forEachPipeline
 */
export async function measureCoverage(
  context: Context,
  endsAt: Date,
  request: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let helper: Promise<void> | null = null;
  const requestHelper = (): Promise<void> => (helper ??= request());
  // Runs all pipelines concurrently, because each pipeline takes the whole round and spends most of it waiting for its
  // rate limit.
  await forEachPipeline(
    context.densityPlans,
    signal,
    (plan) => measurePipeline({ context, plan, signal }, endsAt, requestHelper),
    context.densityPlans.length,
  );
}

async function measurePipeline(run: DensityRun, endsAt: Date, requestHelper: () => Promise<void>): Promise<void> {
  const { context, plan, signal } = run;
  const { clock } = context;
  const { coverage } = context.db.density;
  const { pipeline } = plan;
  const leftMs = Math.min(ROUND_MS, endsAt.getTime() - clock.now().getTime());
  const stopAt = clock.monotonicMs() + leftMs;
  const admission = (await coverage.admissions()).find((one) => one.pipeline === pipeline);
  if (admission === undefined) return;
  const from = new Date(admission.until.getTime() - MAX_WAIT_MS);
  const { key: fingerprint } = await currentFingerprint(context, plan);
  const turn = searchRateLimit(context, plan);
  // A batch must finish within its lease, however low the rate limit is.
  const limit = Math.max(1, Math.min(BATCH, Math.floor((plan.maxPerSecond * LEASE_MS) / 4000)));
  while (clock.monotonicMs() < stopAt) {
    signal.throwIfAborted();
    const now = clock.now();
    const leaseUntil = new Date(now.getTime() + LEASE_MS);
    const claimed = await coverage.claim({ pipeline, from, until: admission.until, limit, now, leaseUntil });
    if (claimed.length === 0) return;
    if (claimed.length === limit) await requestHelper();
    const outcomes: CoverageOutcome[] = [];
    const record = (): Promise<void> => {
      const recordedAt = clock.now();
      const all = [...outcomes, ...unfinished(claimed, outcomes, recordedAt)];
      return coverage.record(pipeline, all, { fingerprint, now: recordedAt });
    };
    try {
      await measureBatch(run, claimed, turn, outcomes);
    } catch (error) {
      // A worker that stops releases the queries that it has not searched, so that other workers need not wait for the
      // lease to end. If the release also fails, the lease expires by itself, and only the first error is reported.
      await record().catch(() => undefined);
      throw error;
    }
    await record();
    // If all searches failed, a service is probably down. This round stops so that the other waiting queries do not
    // lose an attempt, and the next round retries.
    if (outcomes.every(({ kind }) => kind === 'later')) return;
  }
}

function keyOf({ receivedOn, id }: QueryKey): string {
  return `${receivedOn} ${id}`;
}

function unfinished(
  claimed: readonly ClaimedQuery[],
  outcomes: readonly CoverageOutcome[],
  dueAt: Date,
): CoverageOutcome[] {
  const finished = new Set(outcomes.map(keyOf));
  return claimed
    .filter((query) => !finished.has(keyOf(query)))
    .map(({ receivedOn, id }) => ({ receivedOn, id, kind: 'later', reason: 'interrupted', dueAt }));
}

/**
 * Replaces the query that an agent wrote with the text that the user sent, because density and topics describe what
 * users need. recalld must embed this text; if no embedder is configured, recalld uses the vector of the rewritten
 * query.
 */
function asAsked(query: ClaimedQuery, { embedder }: DensityPlan): ClaimedQuery {
  const { text, originalText } = query;
  if (embedder === null || originalText === null || originalText === text) return query;
  return { ...query, text: originalText, vector: null };
}

/** Adds the outcome of each searched query to `outcomes`, even if the batch is aborted. */
async function measureBatch(
  run: DensityRun,
  queries: readonly ClaimedQuery[],
  turn: ReturnType<typeof searchRateLimit>,
  outcomes: CoverageOutcome[],
): Promise<void> {
  const { context, plan, signal } = run;
  const claimed = queries.map((query) => asAsked(query, plan));
  const embedded = await embedMissing(run, claimed);
  const search = openSearch(plan.store, signal);
  const failures: string[] = [];
  const measureOne = async (query: ClaimedQuery): Promise<CoverageOutcome> => {
    const { receivedOn, id } = query;
    const later = (reason: string): CoverageOutcome => {
      if (query.attempts + 1 >= MAX_ATTEMPTS) return { receivedOn, id, kind: 'not_measurable', reason };
      const dueAt = new Date(context.clock.now().getTime() + Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** query.attempts));
      return { receivedOn, id, kind: 'later', reason, dueAt };
    };
    const isToEmbed = query.vector === null && query.text !== null && plan.embedder !== null;
    if (isToEmbed && embedded === null) return later('embedder_failed');
    const embedding = embedded?.get(keyOf(query)) ?? null;
    const vector = query.vector ?? embedding;
    if (vector === null) return { receivedOn, id, kind: 'not_measurable', reason: 'no_vector' };
    await turn(signal);
    const found = await searchCoverage(search, vector);
    if (found.kind === 'measured') {
      const { kind, reason, nearest } = found;
      return { receivedOn, id, kind, reason, nearest, embedding };
    }
    if (found.kind === 'not_measurable') return { receivedOn, id, ...found };
    failures.push(found.message);
    return later('store_failed');
  };
  const remaining = claimed.values();
  const work = async (): Promise<void> => {
    for (const query of remaining) outcomes.push(await measureOne(query));
  };
  // Waits until all searches in progress have ended, so that their results are recorded too.
  const lanes = plan.store.nearestOfEach === undefined ? CONCURRENCY : BATCH;
  const ended = await Promise.allSettled(Array.from({ length: lanes }, work));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  if (failures.length > 0) {
    context.logger.warn('searching the vector store with live queries failed', {
      pipeline: plan.pipeline,
      queries: failures.length,
      reason: failures[0],
    });
  }
}

/** Embeds queries that have a text but no vector. Returns the vectors, keyed by query; null if the embedder failed. */
async function embedMissing(
  { context, plan, signal }: DensityRun,
  claimed: readonly ClaimedQuery[],
): Promise<ReadonlyMap<string, Float32Array> | null> {
  const { pipeline, embedder } = plan;
  const missing = claimed.flatMap((query) =>
    query.vector === null && query.text !== null ? [{ key: keyOf(query), text: query.text }] : [],
  );
  if (embedder === null || missing.length === 0) return new Map();
  const texts = missing.map(({ text }) => text);
  const answer = await embedder.embed(texts, signal);
  if (answer.kind === 'failed') {
    context.logger.warn('embedding live queries failed', { pipeline, reason: answer.message });
    return null;
  }
  return new Map(
    missing.flatMap(({ key }, i) => {
      const vector = answer.vectors[i];
      return vector === undefined ? [] : [[key, vector] as const];
    }),
  );
}

/** Delay before queries are admitted: during this time, sampling may still drop queries from the same minute. */
const SAMPLING_DELAY_MS = 4 * MINUTE_MS;
/** Maximum waiting time of a query; after this time, recalld does not measure the query. */
const MAX_WAIT_MS = 6 * HOUR_MS;
/**
 * Maximum length of the queue, expressed as the time needed to process it. If the queue is longer, some sessions are
 * not admitted.
 */
const MAX_QUEUE_MS = 5 * MINUTE_MS;
/**
 * Maximum waiting time of the oldest query. A longer wait shows that the workers search fewer queries than the budget
 * allows.
 */
const PATIENCE_MS = 2 * MAX_QUEUE_MS;

/**
 * Decides for every pipeline how many of the newly arrived queries are admitted. If several workers decide at the same
 * time, only one decision takes effect.
 *
 * @throws the first failure, after trying all pipelines
 */
export async function admitLiveQueries(context: Context): Promise<void> {
  const results = await Promise.allSettled(context.densityPlans.map((plan) => admit(context, plan)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function admit({ db, clock, logger, meter }: Context, { pipeline, maxPerSecond }: DensityPlan): Promise<void> {
  const now = clock.now();
  const from = new Date(now.getTime() - MAX_WAIT_MS);
  const until = new Date(now.getTime() - SAMPLING_DELAY_MS);
  const { decided, arrived, admitted, oldest } = await db.density.coverage.backlog(pipeline, from, until);
  const previous: Admission = decided?.admission ?? openAdmission;
  const capacity = Math.max(1, (maxPerSecond * MAX_QUEUE_MS) / 1000);
  const oldestMs = oldest === null ? 0 : Math.max(0, until.getTime() - oldest.getTime());
  const load = { arrived, admitted, capacity, oldestMs, patienceMs: PATIENCE_MS };
  const admission = nextAdmission(previous, load, now.getTime());
  const decidedUntil = decided?.until ?? null;
  const leftOut = await db.density.coverage.admit({ pipeline, from, until, now, admission, decidedUntil });
  if (leftOut !== null && leftOut > 0) meter.increment('recalld_density_left_out_total', { pipeline }, leftOut);
  if (leftOut === null || (admission.level === previous.level && leftOut === 0)) return;
  logger.warn('more live queries are waiting than density.max_per_second allows recalld to measure', {
    pipeline,
    waiting: arrived + admitted,
    oldest_seconds: Math.round(oldestMs / 1000),
    left_out: leftOut,
    admitted_share: admissionChance(admission.level),
    max_per_second: maxPerSecond,
  });
}
