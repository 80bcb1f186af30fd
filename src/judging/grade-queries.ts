/**
 * Drawn queries -> grades of the model, for no more money than the day has. Of some of them, what the store holds near
 * to the question beside what users got is graded as well.
 */

import { hash } from 'node:crypto';
import type { Context } from '../core/context.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { textHash } from '../live/privacy/rules/redactor.ts';
import { wellFormed } from '../platform/postgres/values.ts';
import type { Judge, JudgeAnswer, JudgeRequest } from './judge.ts';
import type { GradedBy, ModelGrade, OpenQuery } from './judged-table.ts';
import type { PoolCandidate, PoolScores } from './judgment-pools.ts';
import type { JudgingPlan } from './plan.ts';
import { MAX_DOCUMENT_CHARACTERS, type StoredText } from './rules/judge-prompt.ts';
import { poolScores } from './rules/judged-measures.ts';

/** A document that is not among so many neighbours of its query is not looked for any further. */
const NEIGHBOURS = 100;

type DocumentTexts =
  | { readonly kind: 'texts'; readonly texts: ReadonlyMap<string, StoredText> }
  /** Retriever or store did not answer; another time. */
  | { readonly kind: 'unreachable'; readonly message: string };

interface AskedQuery {
  readonly text: string;
  readonly embedding: Float32Array | null;
  readonly segments: Readonly<Record<string, string>>;
  readonly documentIds: readonly string[];
}

/**
 * Asks the retriever the query again, with texts, and for what it does not bring looks among the nearest chunks of the
 * store. What has gone since the user asked has no text. Rejects only with the reason of `signal`.
 */
async function documentTexts(
  { retriever, store, embedder }: Pick<JudgingPlan, 'retriever' | 'store' | 'embedder'>,
  { text, embedding, segments, documentIds }: AskedQuery,
  signal: AbortSignal,
): Promise<DocumentTexts> {
  const texts = new Map<string, StoredText>();
  const wanted = new Set(documentIds);
  const keep = (id: string, content: string | null | undefined): void => {
    if (content == null || content.trim() === '' || !wanted.delete(id)) return;
    texts.set(id, storedText(content));
  };
  const answer = await retriever.retrieve({ text, k: documentIds.length, tags: segments, withText: true }, signal);
  if (answer.kind === 'documents') for (const { id, text: content } of answer.documents) keep(id, content);
  if (wanted.size === 0) return { kind: 'texts', texts };
  const found = await nearestChunks({ store, embedder }, { text, embedding, k: NEIGHBOURS }, signal);
  for (const { id, content } of found.chunks) keep(id, content);
  const problem = answer.kind === 'documents' ? found.problem : answer.message;
  if (texts.size === 0 && problem !== null) return { kind: 'unreachable', message: problem };
  return { kind: 'texts', texts };
}

interface NearestChunks {
  /** Best first; an id comes as often as its document has chunks among them. */
  readonly chunks: readonly { readonly id: string; readonly content: string | null }[];
  /** Store or embedder did not answer. */
  readonly problem: string | null;
}

/** None where the pipeline has no store, or nothing makes a vector of the question. Rejects only with the reason of `signal`. */
async function nearestChunks(
  { store, embedder }: Pick<JudgingPlan, 'store' | 'embedder'>,
  { text, embedding, k }: { readonly text: string; readonly embedding: Float32Array | null; readonly k: number },
  signal: AbortSignal,
): Promise<NearestChunks> {
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

/** The text up to where a judge reads it, by its hash. */
export function storedText(text: string): StoredText {
  const content = wellFormed(text.slice(0, MAX_DOCUMENT_CHARACTERS).replaceAll('\0', ''));
  return { content, hash: hash('sha256', content, 'hex') };
}

/** Why something was left for another time. */
export type Left = 'unreachable' | 'no_money';

/** Sets the money aside before the call, and counts what it came to. Rejects only with the reason of `signal`. */
export async function askJudge(
  context: Context,
  { pipeline, maxCostPerDay }: JudgingPlan,
  judge: Judge,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<Exclude<JudgeAnswer, { kind: 'unreachable' }> | Left> {
  const { db, clock, meter } = context;
  const dearest = judge.dearest(request);
  const at = clock.now();
  if (dearest > 0 && !(await db.judging.spending.reserve(pipeline, dearest, maxCostPerDay, at))) return 'no_money';
  const answer = await judge.grade(request, signal);
  const cost = answer.kind === 'unreachable' ? 0 : answer.cost;
  if (dearest > 0) await db.judging.spending.settle(pipeline, dearest, cost, at);
  if (answer.kind === 'unreachable') return unreachable(context, pipeline, answer.message);
  meter.increment('recalld_judge_cost_dollars_total', { pipeline }, cost);
  if (answer.kind === 'failed') meter.increment('recalld_judge_failures_total', { pipeline, reason: answer.problem });
  return answer;
}

function unreachable({ meter, logger }: Context, pipeline: string, reason: string): Left {
  meter.increment('recalld_judge_failures_total', { pipeline, reason: 'unreachable' });
  logger.warn('nothing could be graded now', { pipeline, reason });
  return 'unreachable';
}

/** A worker that has not come back by then is taken for dead. */
const LEASE_MS = 10 * MINUTE_MS;
/** What nobody could grade in so long is given up, and counted. */
const PATIENCE_MS = 24 * HOUR_MS;
/** Queries in a row that could not be reached for, after which going on makes no sense until the next round. */
const MAX_FAILURES = 3;

/**
 * Grades what is open, one query after the other, those for people first. What cannot be reached is left for the next
 * round and given up after a day; what a judge will not grade is counted as failed, with grade 0 to the estimate, so that
 * it never leaves it in silence. Every grade is stored as it comes: whoever is killed loses the one call under way, whose
 * cost stays counted.
 *
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function gradeQueries(context: Context, plan: JudgingPlan, signal: AbortSignal): Promise<void> {
  const { db, clock, meter, logger } = context;
  const { pipeline } = plan;
  const expired = await db.judging.judged.expire(pipeline, new Date(clock.now().getTime() - PATIENCE_MS));
  if (expired > 0) {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'expired' }, expired);
    logger.warn('drawn live queries were given up: nothing could grade them within a day', { pipeline, expired });
  }
  await takeInTurn(clock, signal, {
    claim: (due, leaseUntil) => db.judging.judged.claim(pipeline, due, leaseUntil),
    work: (query) => gradeQuery(context, plan, query, signal),
    release: (id, dueAt) => db.judging.judged.release(pipeline, id, dueAt),
  });
}

interface Turns<Query> {
  readonly claim: (due: Date, leaseUntil: Date) => Promise<Query | null>;
  /** Null when it is done with. */
  readonly work: (query: Query) => Promise<Left | null>;
  readonly release: (id: string, dueAt: Date) => Promise<void>;
}

/** One query after the other, until none is due, the money is spent or nothing can be reached; what is left is for the next round. */
async function takeInTurn<Query extends { readonly id: string }>(
  clock: Clock,
  signal: AbortSignal,
  { claim, work, release }: Turns<Query>,
): Promise<void> {
  const started = clock.now();
  for (let failures = 0; failures < MAX_FAILURES; ) {
    signal.throwIfAborted();
    const now = clock.now();
    // What was left in this round is due in the next.
    const query = await claim(started, new Date(now.getTime() + LEASE_MS));
    if (query === null) return;
    const left = await work(query);
    if (left === null) {
      failures = 0;
      continue;
    }
    await release(query.id, new Date(now.getTime() + 1));
    if (left === 'no_money') return;
    failures++;
  }
}

async function gradeQuery(
  context: Context,
  plan: JudgingPlan,
  { id, text, ...query }: OpenQuery,
  signal: AbortSignal,
): Promise<Left | null> {
  const { db, clock, meter, hashKey } = context;
  const { pipeline, judge } = plan;
  const giveUp = async (): Promise<null> => {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'without_text' });
    await db.judging.judged.close(pipeline, id, judge === null ? 'graded' : 'without_text');
    return null;
  };
  if (text === null) return giveUp();
  const found = await documentTexts(plan, { ...query, text }, signal);
  if (found.kind === 'unreachable') return unreachable(context, pipeline, found.message);
  const { texts } = found;
  if (texts.size === 0) return giveUp();
  await db.judging.judged.recordTexts(pipeline, id, texts, clock.now());
  if (judge !== null) {
    const done = await db.judging.judged.gradedDocuments(pipeline, id);
    const by = { textHash: textHash(text, hashKey), fingerprint: judge.fingerprint };
    for (const documentId of query.documentIds) {
      const document = texts.get(documentId);
      if (done.has(documentId) || document === undefined) continue;
      const left = await gradeDocument(context, plan, judge, { id, text, documentId, document, by }, signal);
      if (left !== null) return left;
    }
  }
  await db.judging.judged.close(pipeline, id, 'graded');
  return null;
}

interface AskedDocument {
  readonly id: string;
  readonly text: string;
  readonly documentId: string;
  readonly document: StoredText;
  readonly by: GradedBy;
}

async function gradeDocument(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  { id, text, documentId, document, by }: AskedDocument,
  signal: AbortSignal,
): Promise<Left | null> {
  const graded = await gradeText(context, plan, judge, { text, document, by }, signal);
  if (graded === 'no_money' || graded === 'unreachable') return graded;
  const grade = { documentId, ...graded, contentHash: document.hash };
  await context.db.judging.judged.recordGrade(plan.pipeline, id, grade, by, context.clock.now());
  return null;
}

/** The grade that the same judge gave the same texts before, for nothing, else the one that it gives now. */
export async function gradeText(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  { text, document, by }: Pick<AskedDocument, 'text' | 'document' | 'by'>,
  signal: AbortSignal,
): Promise<Pick<ModelGrade, 'grade' | 'problem' | 'isFlagged'> | Left> {
  const before = await context.db.judging.judged.gradedBefore({ ...by, contentHash: document.hash });
  if (before !== null) return { ...before, problem: null };
  const answer = await askJudge(context, plan, judge, { query: text, document: document.content }, signal);
  if (answer === 'no_money' || answer === 'unreachable') return answer;
  const { isFlagged } = answer;
  if (isFlagged) context.meter.increment('recalld_judge_flagged_total', { pipeline: plan.pipeline });
  return answer.kind === 'failed'
    ? { grade: null, problem: answer.problem, isFlagged }
    : { grade: answer.grade, problem: null, isFlagged };
}

/**
 * After the grades of a round, so that these come first where money is short. What cannot be reached is left for the next
 * round and given up after a day; every grade is stored as it comes, so that none is paid for twice.
 *
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function gradePools(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, meter, logger } = context;
  const { pipeline, pooling, depth: k } = plan;
  const expired = await db.judging.pools.expire(pipeline, new Date(clock.now().getTime() - PATIENCE_MS));
  if (expired > 0) {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'expired' }, expired);
    logger.warn('deeper searches were given up: nothing could be searched or graded within a day', {
      pipeline,
      expired,
    });
  }
  if (pooling === null) return;
  const kind = { fingerprint: judge.fingerprint, k, searched: pooling.documents };
  await takeInTurn(clock, signal, {
    claim: (due, leaseUntil) => db.judging.pools.claim(pipeline, judge.fingerprint, due, leaseUntil),
    async work(query) {
      const found = await searchPool(context, plan, { query, judge, k: pooling.documents }, signal);
      if (typeof found === 'string') return found;
      await db.judging.pools.close(pipeline, query.id, found === null ? null : { ...found, ...kind });
      return null;
    },
    release: (id, dueAt) => db.judging.pools.release(pipeline, id, dueAt),
  });
}

/** Null where it cannot be searched, or not all of it has a grade. */
async function searchPool(
  context: Context,
  plan: JudgingPlan,
  { query, judge, k }: { readonly query: PoolCandidate; readonly judge: Judge; readonly k: number },
  signal: AbortSignal,
): Promise<PoolScores | null | Left> {
  const { id, text, embedding, shown } = query;
  if (text === null || shown.some(({ hash, grade }) => hash !== null && grade === null)) return null;
  const { chunks, problem } = await nearestChunks(plan, { text, embedding, k }, signal);
  if (problem !== null) return unreachable(context, plan.pipeline, problem);
  const by = { textHash: textHash(text, context.hashKey), fingerprint: judge.fingerprint };
  const texts = textsBeside(shown, chunks);
  if (texts === null) return null;
  const grades: number[] = [];
  for (const document of texts) {
    const graded = await gradeText(context, plan, judge, { text, document, by }, signal);
    if (graded === 'no_money' || graded === 'unreachable') return graded;
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

/** Each text once that users did not get, neither under its id nor under another; null where the store gave no text. */
function textsBeside(
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
