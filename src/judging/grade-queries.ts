/** Grades selected queries and judgment pools with the model, within the daily budget. */

import { hash } from 'node:crypto';
import type { Context } from '../core/context.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { textHash } from '../live/privacy/rules/redactor.ts';
import type { Judge, JudgeRequest } from './judge.ts';
import type { GradedBy, OpenQuery } from './judged-table.ts';
import type { PoolCandidate } from './judgment-pools.ts';
import type { JudgingPlan } from './plan.ts';
import { MAX_DOCUMENT_CHARACTERS, type StoredText } from './rules/judge-prompt.ts';
import { poolScores } from './rules/judged-measures.ts';

/** A round in which the queries, pools and episodes of one pipeline are graded. */
export interface Round extends Context {
  readonly plan: JudgingPlan;
  /** The current judge; null if there is no model judge. */
  readonly judge: Judge | null;
  readonly signal: AbortSignal;
}

export type ModelRound = Round & { readonly judge: Judge };

/** Number of nearest chunks among which recalld looks for the texts of returned documents. */
const NEIGHBOURS = 100;

/** Thrown if work must wait for the next round. */
export class DeferralError extends Error {
  readonly reason: 'unreachable' | 'over_budget';

  constructor(reason: DeferralError['reason']) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Reads document texts. Sends the query to the retriever again, then searches the nearest stored chunks for the
 * documents that the retriever did not return. Documents that are neither in the results nor among these chunks have no
 * text.
 *
 * @throws DeferralError if the retriever or the store did not respond; the reason of `signal`
 */
export async function documentTexts(
  round: Round,
  query: Omit<OpenQuery, 'id' | 'receivedAt' | 'text'> & { readonly text: string },
): Promise<ReadonlyMap<string, StoredText>> {
  const { plan, signal } = round;
  const { text, segments, documentIds } = query;
  const texts = new Map<string, StoredText>();
  const wanted = new Set(documentIds);
  const keep = (id: string, content: string | null | undefined): void => {
    if (content == null || content.trim() === '' || !wanted.delete(id)) return;
    texts.set(id, storedText(content));
  };
  const answer = await plan.retriever.retrieve({ text, k: documentIds.length, tags: segments, withText: true }, signal);
  if (answer.kind === 'documents') for (const { id, text: content } of answer.documents) keep(id, content);
  if (wanted.size === 0) return texts;
  const found = await nearestChunks(round, query, NEIGHBOURS);
  for (const { id, content } of found.chunks) keep(id, content);
  const problem = answer.kind === 'documents' ? found.problem : answer.message;
  if (texts.size === 0 && problem !== null) throw unreachable(round, problem);
  return texts;
}

/**
 * Returns no chunks if the pipeline has no store, or if the query has no vector. Rejects only with the reason of
 * `signal`.
 */
async function nearestChunks(
  { plan: { store, embedder }, signal }: Round,
  { text, embedding }: { readonly text: string; readonly embedding: Float32Array | null },
  k: number,
): Promise<{
  /** Chunks, best first. A document id occurs once for each chunk of the document. */
  readonly chunks: readonly { readonly id: string; readonly content: string | null }[];
  /** Error message if the store or the embedder did not respond; otherwise null. */
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
  const content = text.slice(0, MAX_DOCUMENT_CHARACTERS).replaceAll('\0', '').toWellFormed();
  return { content, hash: hash('sha256', content, 'hex') };
}

/**
 * Reserves the cost before the call and records the actual cost after it.
 *
 * @throws DeferralError, or the reason of `signal`
 */
export async function askJudge(round: ModelRound, request: JudgeRequest) {
  const { clock, meter, plan, judge, signal } = round;
  const { spending } = round.db.judging;
  const { pipeline, maxCostPerDay } = plan;
  const maxCost = judge.maxCost(request);
  const at = clock.now();
  if (maxCost > 0 && !(await spending.reserve(pipeline, maxCost, maxCostPerDay, at)))
    throw new DeferralError('over_budget');
  const answer = await judge.grade(request, signal);
  const cost = answer.kind === 'unreachable' ? 0 : answer.cost;
  if (maxCost > 0) await spending.recordCost(pipeline, maxCost, cost, at);
  if (answer.kind === 'unreachable') throw unreachable(round, answer.message);
  meter.increment('recalld_judge_cost_dollars_total', { pipeline }, cost);
  if (answer.kind === 'failed') meter.increment('recalld_judge_failures_total', { pipeline, reason: answer.problem });
  return answer;
}

/** Counts and logs a deferral, and returns its error. */
export function unreachable({ meter, logger, plan: { pipeline } }: Round, reason: string): DeferralError {
  meter.increment('recalld_judge_failures_total', { pipeline, reason: 'unreachable' });
  logger.warn('grading deferred: the judge, retriever or store is unreachable', { pipeline, reason });
  return new DeferralError('unreachable');
}

const LEASE_MS = 10 * MINUTE_MS;
/** Age at which ungraded work expires and is counted as a failure. */
const EXPIRY_MS = 24 * HOUR_MS;
/** The round ends when a service has been unreachable for this many consecutive items. */
const MAX_FAILURES = 3;

/** Queries, pools or episodes that are waiting to be graded. */
interface WorkQueue<Item> {
  expire(pipeline: string, before: Date): Promise<number>;
  claim(pipeline: string, due: Date, leaseUntil: Date): Promise<Item | null>;
  release(pipeline: string, id: string, dueAt: Date): Promise<void>;
}

/**
 * First marks items that have waited for a day as expired. Then processes items one by one until none is waiting, the
 * budget is spent, or a service has been unreachable for `MAX_FAILURES` consecutive items. Each grade is stored
 * immediately, so that no grade is paid for twice.
 *
 * @param work processes one item; if null, items expire but are not processed
 * @throws the reason of `signal`, and RecalldError database_unreachable
 */
export async function processQueue<Item extends { readonly id: string }>(
  { clock, meter, logger, plan: { pipeline }, signal }: Round,
  queue: WorkQueue<Item>,
  expiryMessage: string,
  work: ((item: Item) => Promise<void>) | null,
): Promise<void> {
  const started = clock.now();
  const expired = await queue.expire(pipeline, new Date(started.getTime() - EXPIRY_MS));
  if (expired > 0) {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'expired' }, expired);
    logger.warn(expiryMessage, { pipeline, expired });
  }
  if (work === null) return;
  for (let failures = 0; failures < MAX_FAILURES; ) {
    signal.throwIfAborted();
    const now = clock.now();
    // Items deferred in this round are retried in the next round.
    const item = await queue.claim(pipeline, started, new Date(now.getTime() + LEASE_MS));
    if (item === null) return;
    try {
      await work(item);
      failures = 0;
    } catch (error) {
      if (!(error instanceof DeferralError)) throw error;
      await queue.release(pipeline, item.id, new Date(now.getTime() + 1));
      if (error.reason === 'over_budget') return;
      failures++;
    }
  }
}

/**
 * Grades open queries, starting with queries selected for human grading. A document that the judge cannot grade counts
 * as failed, with grade 0, so that the estimate does not silently omit it. A killed worker loses only the grade of its
 * current call; the cost of the call still counts.
 *
 * @throws the errors of processQueue
 */
export function gradeQueries(round: Round): Promise<void> {
  const expiryMessage = 'selected live queries expired: they could not be graded within a day';
  return processQueue(round, round.db.judging.judged, expiryMessage, (query) => gradeQuery(round, query));
}

async function gradeQuery(round: Round, { id, text, ...query }: OpenQuery): Promise<void> {
  const { clock, meter, hashKey, judge } = round;
  const { judged } = round.db.judging;
  const { pipeline } = round.plan;
  const texts = text === null ? null : await documentTexts(round, { text, ...query });
  if (text === null || texts === null || texts.size === 0) {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'without_text' });
    return judged.close(pipeline, id, judge === null ? 'graded' : 'without_text');
  }
  await judged.recordTexts(pipeline, id, texts, clock.now());
  if (judge !== null) {
    const done = await judged.gradedDocuments(pipeline, id);
    const by = { textHash: textHash(text, hashKey), fingerprint: judge.fingerprint };
    for (const documentId of query.documentIds) {
      const document = texts.get(documentId);
      if (done.has(documentId) || document === undefined) continue;
      const graded = await gradeText({ ...round, judge }, text, document, by);
      await judged.recordGrade(pipeline, id, { documentId, ...graded, contentHash: document.hash }, by, clock.now());
    }
  }
  await judged.close(pipeline, id, 'graded');
}

/**
 * Grades a document. Reuses, at no cost, the grade that the same judge gave to the same texts.
 *
 * @throws DeferralError
 */
async function gradeText(round: ModelRound, text: string, document: StoredText, by: GradedBy) {
  const before = await round.db.judging.judged.gradedBefore({ ...by, contentHash: document.hash });
  if (before !== null) return { ...before, problem: null };
  const answer = await askJudge(round, { query: text, document: document.content });
  const { isFlagged } = answer;
  if (isFlagged) round.meter.increment('recalld_judge_flagged_total', { pipeline: round.plan.pipeline });
  return answer.kind === 'failed'
    ? { grade: null, problem: answer.problem, isFlagged }
    : { grade: answer.grade, problem: null, isFlagged };
}

/**
 * Grades a document that users did not get: how well it answers the query `text`. Returns null if the judge cannot
 * grade the document.
 *
 * @throws DeferralError
 */
export async function gradePooled(
  round: ModelRound,
  { id, text }: { readonly id: string; readonly text: string },
  document: StoredText,
): Promise<number | null> {
  const by = { textHash: textHash(text, round.hashKey), fingerprint: round.judge.fingerprint };
  const { grade, isFlagged } = await gradeText(round, text, document, by);
  if (grade === null) return null;
  const stored = { contentHash: document.hash, grade, isFlagged };
  await round.db.judging.judged.recordPoolJudgment(round.plan.pipeline, id, stored, by, round.clock.now());
  return grade;
}

/**
 * Grades judgment pools, after `gradeQueries`, which has priority when the budget is short.
 *
 * @throws the errors of processQueue
 */
export function gradePools(round: ModelRound): Promise<void> {
  const { pools } = round.db.judging;
  const { pipeline, pooling, depth: k } = round.plan;
  const { fingerprint } = round.judge;
  const grade = async (query: PoolCandidate, searched: number): Promise<void> => {
    const scores = await searchPool(round, query, searched);
    await pools.close(pipeline, query.id, scores && { ...scores, fingerprint, k, searched });
  };
  return processQueue<PoolCandidate>(
    round,
    { ...pools, claim: (of, due, leaseUntil) => pools.claim(of, fingerprint, due, leaseUntil) },
    'judgment pools expired: they could not be searched or graded within a day',
    pooling && ((query) => grade(query, pooling.documents)),
  );
}

/** Returns null if the store cannot be searched, or if a document of the pool has no grade. */
async function searchPool(round: ModelRound, { id, text, embedding, shown }: PoolCandidate, k: number) {
  if (text === null || shown.some(({ hash, grade }) => hash !== null && grade === null)) return null;
  const { chunks, problem } = await nearestChunks(round, { text, embedding }, k);
  if (problem !== null) throw unreachable(round, problem);
  const texts = pooledTexts(shown, chunks);
  if (texts === null) return null;
  const grades: number[] = [];
  for (const document of texts) {
    const grade = await gradePooled(round, { id, text }, document);
    if (grade === null) return null;
    grades.push(grade);
  }
  const ofShown = shown.map(({ grade }) => grade ?? 0);
  return poolScores(ofShown, grades, round.plan.depth);
}

/** Distinct chunk texts that users did not get; null if the store returned no text. */
function pooledTexts(shown: PoolCandidate['shown'], chunks: Awaited<ReturnType<typeof nearestChunks>>['chunks']) {
  const readable = chunks.flatMap(({ id, content }) =>
    content === null || content.trim() === '' ? [] : [{ id, text: storedText(content) }],
  );
  if (readable.length === 0) return null;
  const ids = new Set(shown.map(({ id }) => id));
  const hashes = new Set(shown.map(({ hash }) => hash));
  const others = readable.filter(({ id, text }) => !ids.has(id) && !hashes.has(text.hash));
  return [...new Map(others.map(({ text }) => [text.hash, text])).values()];
}
