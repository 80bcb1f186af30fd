/**
 * Grades selected queries with the model, within the daily budget. For some queries, the model also grades a pool: the
 * stored chunks nearest to the query.
 */

import { hash } from 'node:crypto';
import type { Context } from '../core/context.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { textHash } from '../live/privacy/rules/redactor.ts';
import { wellFormed } from '../platform/postgres/values.ts';
import type { Judge, JudgeAnswer, JudgeRequest } from './judge.ts';
import type { GradedBy, OpenQuery } from './judged-table.ts';
import type { PoolCandidate } from './judgment-pools.ts';
import type { JudgingPlan } from './plan.ts';
import { MAX_DOCUMENT_CHARACTERS, type StoredText } from './rules/judge-prompt.ts';
import { poolScores } from './rules/judged-measures.ts';

/** Number of nearest chunks among which recalld looks for the texts of returned documents. */
const NEIGHBOURS = 100;

type DocumentTexts =
  | { readonly kind: 'texts'; readonly texts: ReadonlyMap<string, StoredText> }
  /** The retriever or the store did not respond, so recalld retries later. */
  | { readonly kind: 'unreachable'; readonly message: string };

/**
 * Reads document texts: sends the query to the retriever again, then looks for documents that it did not return among
 * the nearest stored chunks. Documents found in neither place have no text. Rejects only with the reason of `signal`.
 */
export async function documentTexts(
  plan: JudgingPlan,
  text: string,
  embedding: Float32Array | null,
  segments: Readonly<Record<string, string>>,
  documentIds: readonly string[],
  signal: AbortSignal,
): Promise<DocumentTexts> {
  const texts = new Map<string, StoredText>();
  const wanted = new Set(documentIds);
  const keep = (id: string, content: string | null | undefined): void => {
    if (content == null || content.trim() === '' || !wanted.delete(id)) return;
    texts.set(id, storedText(content));
  };
  const answer = await plan.retriever.retrieve({ text, k: documentIds.length, tags: segments, withText: true }, signal);
  if (answer.kind === 'documents') for (const { id, text: content } of answer.documents) keep(id, content);
  if (wanted.size === 0) return { kind: 'texts', texts };
  const found = await nearestChunks(plan, text, embedding, NEIGHBOURS, signal);
  for (const { id, content } of found.chunks) keep(id, content);
  const problem = answer.kind === 'documents' ? found.problem : answer.message;
  if (texts.size === 0 && problem !== null) return { kind: 'unreachable', message: problem };
  return { kind: 'texts', texts };
}

/**
 * Returns no chunks if the pipeline has no store or the query has no vector. Rejects only with the reason of `signal`.
 */
async function nearestChunks(
  { store, embedder }: JudgingPlan,
  text: string,
  embedding: Float32Array | null,
  k: number,
  signal: AbortSignal,
): Promise<{
  /** Chunks, best first. A document id occurs once for each of its chunks. */
  readonly chunks: readonly { readonly id: string; readonly content: string | null }[];
  /** Error message, if the store or the embedder did not respond. */
  readonly problem: string | null;
}> {
  const nothing = { chunks: [], problem: null };
  if (store === null) return nothing;
  let vector = embedding;
  if (vector === null) {
    if (embedder === null) return nothing;
    const embedded = await embedder.embed([text], signal);
    if (embedded.kind === 'failed') return { chunks: [], problem: embedded.message };
    vector = embedded.vectors[0] ?? null;
    if (vector === null) return nothing;
  }
  const found = await store.nearest({ vector, k, filter: {}, exact: false, withContent: true }, signal);
  if (found.kind === 'failed') return { chunks: [], problem: found.message };
  return found.kind === 'unsupported' ? nothing : { chunks: found.value.neighbours, problem: null };
}

/** The part of a text that the judge receives, and its hash. */
export function storedText(text: string): StoredText {
  const content = wellFormed(text.slice(0, MAX_DOCUMENT_CHARACTERS).replaceAll('\0', ''));
  return { content, hash: hash('sha256', content, 'hex') };
}

/** Why work was deferred. */
export type Deferral = 'unreachable' | 'over_budget';

/** Reserves the cost before the call and records the actual cost after it. Rejects only with the reason of `signal`. */
export async function askJudge(
  context: Context,
  { pipeline, maxCostPerDay }: JudgingPlan,
  judge: Judge,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<Exclude<JudgeAnswer, { kind: 'unreachable' }> | Deferral> {
  const { db, clock, meter } = context;
  const maxCost = judge.maxCost(request);
  const at = clock.now();
  if (maxCost > 0 && !(await db.judging.spending.reserve(pipeline, maxCost, maxCostPerDay, at))) return 'over_budget';
  const answer = await judge.grade(request, signal);
  const cost = answer.kind === 'unreachable' ? 0 : answer.cost;
  if (maxCost > 0) await db.judging.spending.recordCost(pipeline, maxCost, cost, at);
  if (answer.kind === 'unreachable') return unreachable(context, pipeline, answer.message);
  meter.increment('recalld_judge_cost_dollars_total', { pipeline }, cost);
  if (answer.kind === 'failed') meter.increment('recalld_judge_failures_total', { pipeline, reason: answer.problem });
  return answer;
}

/** Counts and logs a deferral. */
export function unreachable({ meter, logger }: Context, pipeline: string, reason: string): Deferral {
  meter.increment('recalld_judge_failures_total', { pipeline, reason: 'unreachable' });
  logger.warn('grading deferred: the judge, retriever or store is unreachable', { pipeline, reason });
  return 'unreachable';
}

const LEASE_MS = 10 * MINUTE_MS;
/** Age at which an ungraded query expires and is counted as a failure. */
const EXPIRY_MS = 24 * HOUR_MS;
/** Number of consecutive queries for which a service was unreachable, after which the round ends. */
const MAX_FAILURES = 3;

/** Expires work that could not be graded within a day, and counts and logs it. */
export async function expire(
  { clock, meter, logger }: Context,
  pipeline: string,
  message: string,
  expireBefore: (before: Date) => Promise<number>,
): Promise<void> {
  const expired = await expireBefore(new Date(clock.now().getTime() - EXPIRY_MS));
  if (expired === 0) return;
  meter.increment('recalld_judge_failures_total', { pipeline, reason: 'expired' }, expired);
  logger.warn(message, { pipeline, expired });
}

/**
 * Grades open queries one by one, starting with queries selected for people. If a service is unreachable, the query
 * waits for the next round; it expires after a day. A document that the judge cannot grade counts as failed, with grade
 * 0, so that the estimate does not omit it silently. Each grade is stored at once, so that a killed worker loses only
 * the grade of its current call; the cost of the call still counts.
 *
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function gradeQueries(context: Context, plan: JudgingPlan, signal: AbortSignal): Promise<void> {
  const { clock } = context;
  const { judged } = context.db.judging;
  const { pipeline } = plan;
  const message = 'selected live queries expired: they could not be graded within a day';
  await expire(context, pipeline, message, (before) => judged.expire(pipeline, before));
  await processQueue(
    clock,
    signal,
    (due, leaseUntil) => judged.claim(pipeline, due, leaseUntil),
    (query) => gradeQuery(context, plan, query, signal),
    (id, dueAt) => judged.release(pipeline, id, dueAt),
  );
}

/**
 * Processes queries one by one until none is waiting, the budget is spent or a service is unreachable. The remaining
 * queries wait for the next round.
 */
export async function processQueue<Query extends { readonly id: string }>(
  clock: Clock,
  signal: AbortSignal,
  claim: (due: Date, leaseUntil: Date) => Promise<Query | null>,
  work: (query: Query) => Promise<Deferral | null>,
  release: (id: string, dueAt: Date) => Promise<void>,
): Promise<void> {
  const started = clock.now();
  for (let failures = 0; failures < MAX_FAILURES; ) {
    signal.throwIfAborted();
    const now = clock.now();
    // Queries deferred in this round are retried in the next.
    const query = await claim(started, new Date(now.getTime() + LEASE_MS));
    if (query === null) return;
    const deferral = await work(query);
    if (deferral === null) {
      failures = 0;
      continue;
    }
    await release(query.id, new Date(now.getTime() + 1));
    if (deferral === 'over_budget') return;
    failures++;
  }
}

async function gradeQuery(
  context: Context,
  plan: JudgingPlan,
  { id, text, embedding, segments, documentIds }: OpenQuery,
  signal: AbortSignal,
): Promise<Deferral | null> {
  const { db, clock, meter, hashKey } = context;
  const { pipeline, judge } = plan;
  const closeWithoutText = async (): Promise<null> => {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'without_text' });
    await db.judging.judged.close(pipeline, id, judge === null ? 'graded' : 'without_text');
    return null;
  };
  if (text === null) return closeWithoutText();
  const found = await documentTexts(plan, text, embedding, segments, documentIds, signal);
  if (found.kind === 'unreachable') return unreachable(context, pipeline, found.message);
  const { texts } = found;
  if (texts.size === 0) return closeWithoutText();
  await db.judging.judged.recordTexts(pipeline, id, texts, clock.now());
  if (judge !== null) {
    const done = await db.judging.judged.gradedDocuments(pipeline, id);
    const by = { textHash: textHash(text, hashKey), fingerprint: judge.fingerprint };
    for (const documentId of documentIds) {
      const document = texts.get(documentId);
      if (done.has(documentId) || document === undefined) continue;
      const graded = await gradeText(context, plan, judge, text, document, by, signal);
      if (graded === 'over_budget' || graded === 'unreachable') return graded;
      const grade = { documentId, ...graded, contentHash: document.hash };
      await db.judging.judged.recordGrade(pipeline, id, grade, by, clock.now());
    }
  }
  await db.judging.judged.close(pipeline, id, 'graded');
  return null;
}

/** If the same judge has already graded the same texts, returns that grade at no cost; otherwise calls the judge. */
export async function gradeText(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  text: string,
  document: StoredText,
  by: GradedBy,
  signal: AbortSignal,
) {
  const before = await context.db.judging.judged.gradedBefore({ ...by, contentHash: document.hash });
  if (before !== null) return { ...before, problem: null };
  const answer = await askJudge(context, plan, judge, { query: text, document: document.content }, signal);
  if (answer === 'over_budget' || answer === 'unreachable') return answer;
  const { isFlagged } = answer;
  if (isFlagged) context.meter.increment('recalld_judge_flagged_total', { pipeline: plan.pipeline });
  return answer.kind === 'failed'
    ? { grade: null, problem: answer.problem, isFlagged }
    : { grade: answer.grade, problem: null, isFlagged };
}

/**
 * Grades judgment pools. Runs after `gradeQueries`, so that queries have priority when the budget is short. If a
 * service is unreachable, the pool waits for the next round; it expires after a day. Each grade is stored at once, so
 * that no grade is paid for twice.
 *
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function gradePools(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  signal: AbortSignal,
): Promise<void> {
  const { pools } = context.db.judging;
  const { pipeline, pooling, depth: k } = plan;
  const message = 'judgment pools expired: they could not be searched or graded within a day';
  await expire(context, pipeline, message, (before) => pools.expire(pipeline, before));
  if (pooling === null) return;
  const kind = { fingerprint: judge.fingerprint, k, searched: pooling.documents };
  await processQueue(
    context.clock,
    signal,
    (due, leaseUntil) => pools.claim(pipeline, judge.fingerprint, due, leaseUntil),
    async (query) => {
      const found = await searchPool(context, plan, query, judge, pooling.documents, signal);
      if (typeof found === 'string') return found;
      await pools.close(pipeline, query.id, found === null ? null : { ...found, ...kind });
      return null;
    },
    (id, dueAt) => pools.release(pipeline, id, dueAt),
  );
}

/** Returns null if the store cannot be searched or a document of the pool has no grade. */
async function searchPool(
  context: Context,
  plan: JudgingPlan,
  { id, text, embedding, shown }: PoolCandidate,
  judge: Judge,
  k: number,
  signal: AbortSignal,
): Promise<ReturnType<typeof poolScores> | null | Deferral> {
  if (text === null || shown.some(({ hash, grade }) => hash !== null && grade === null)) return null;
  const { chunks, problem } = await nearestChunks(plan, text, embedding, k, signal);
  if (problem !== null) return unreachable(context, plan.pipeline, problem);
  const by = { textHash: textHash(text, context.hashKey), fingerprint: judge.fingerprint };
  const texts = pooledTexts(shown, chunks);
  if (texts === null) return null;
  const grades: number[] = [];
  for (const document of texts) {
    const graded = await gradeText(context, plan, judge, text, document, by, signal);
    if (graded === 'over_budget' || graded === 'unreachable') return graded;
    const { grade, isFlagged } = graded;
    if (grade === null) return null;
    const stored = { contentHash: document.hash, grade, isFlagged };
    await context.db.judging.judged.recordPoolJudgment(plan.pipeline, id, stored, by, context.clock.now());
    grades.push(grade);
  }
  return poolScores(
    shown.map(({ grade }) => grade ?? 0),
    grades,
    plan.depth,
  );
}

/**
 * Returns the chunk texts that users did not get, without repeated ids or contents; null if the store returned no text.
 */
function pooledTexts(
  shown: PoolCandidate['shown'],
  chunks: Awaited<ReturnType<typeof nearestChunks>>['chunks'],
): readonly StoredText[] | null {
  const readable = chunks.flatMap(({ id, content }) =>
    content === null || content.trim() === '' ? [] : [{ id, text: storedText(content) }],
  );
  if (readable.length === 0) return null;
  const ids = new Set(shown.map(({ id }) => id));
  const hashes = new Set(shown.map(({ hash }) => hash));
  const others = readable.filter(({ id, text }) => !ids.has(id) && !hashes.has(text.hash));
  return [...new Map(others.map(({ text }) => [text.hash, text])).values()];
}
