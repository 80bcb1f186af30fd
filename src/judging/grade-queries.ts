/** Drawn queries -> grades of the model, for no more money than the day has. */

import type { Clock } from '../clock.ts';
import { textHash } from '../privacy/rules/keyed-hash.ts';
import { HOUR_MS, MINUTE_MS } from '../time.ts';
import { documentTexts } from './document-texts.ts';
import type { Judge, JudgeAnswer, JudgeRequest } from './judge.ts';
import type { GradedBy, ModelGrade, OpenQuery } from './judged-table.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import type { StoredText } from './rules/judge-prompt.ts';

/** Why something was left for another time. */
export type Left = 'unreachable' | 'no_money';

/** Sets the money aside before the call, and counts what it came to. Rejects only with the reason of `signal`. */
export async function askJudge(
  deps: JudgingDeps,
  { pipeline, maxCostPerDay }: JudgingPlan,
  judge: Judge,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<Exclude<JudgeAnswer, { kind: 'unreachable' }> | Left> {
  const { spending, clock, meter } = deps;
  const dearest = judge.dearest(request);
  const at = clock.now();
  if (dearest > 0 && !(await spending.reserve(pipeline, dearest, maxCostPerDay, at))) return 'no_money';
  const answer = await judge.grade(request, signal);
  const cost = answer.kind === 'unreachable' ? 0 : answer.cost;
  if (dearest > 0) await spending.settle(pipeline, dearest, cost, at);
  if (answer.kind === 'unreachable') return unreachable(deps, pipeline, answer.message);
  meter.increment('recalld_judge_cost_dollars_total', { pipeline }, cost);
  if (answer.kind === 'failed') meter.increment('recalld_judge_failures_total', { pipeline, reason: answer.problem });
  return answer;
}

export function unreachable({ meter, logger }: JudgingDeps, pipeline: string, reason: string): Left {
  meter.increment('recalld_judge_failures_total', { pipeline, reason: 'unreachable' });
  logger.warn('nothing could be graded now', { pipeline, reason });
  return 'unreachable';
}

/** A worker that has not come back by then is taken for dead. */
const LEASE_MS = 10 * MINUTE_MS;
/** What nobody could grade in so long is given up, and counted. */
export const PATIENCE_MS = 24 * HOUR_MS;
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
export async function gradeQueries(deps: JudgingDeps, plan: JudgingPlan, signal: AbortSignal): Promise<void> {
  const { judged, clock, meter, logger } = deps;
  const { pipeline } = plan;
  const expired = await judged.expire(pipeline, new Date(clock.now().getTime() - PATIENCE_MS));
  if (expired > 0) {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'expired' }, expired);
    logger.warn('drawn live queries were given up: nothing could grade them within a day', { pipeline, expired });
  }
  await takeInTurn(clock, signal, {
    claim: (due, leaseUntil) => judged.claim(pipeline, due, leaseUntil),
    work: (query) => gradeQuery(deps, plan, query, signal),
    release: (id, dueAt) => judged.release(pipeline, id, dueAt),
  });
}

interface Turns<Query> {
  readonly claim: (due: Date, leaseUntil: Date) => Promise<Query | null>;
  /** Null when it is done with. */
  readonly work: (query: Query) => Promise<Left | null>;
  readonly release: (id: string, dueAt: Date) => Promise<void>;
}

/** One query after the other, until none is due, the money is spent or nothing can be reached; what is left is for the next round. */
export async function takeInTurn<Query extends { readonly id: string }>(
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
  deps: JudgingDeps,
  plan: JudgingPlan,
  { id, text, ...query }: OpenQuery,
  signal: AbortSignal,
): Promise<Left | null> {
  const { judged, clock, meter, hashKey } = deps;
  const { pipeline, judge } = plan;
  const giveUp = async (): Promise<null> => {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'without_text' });
    await judged.close(pipeline, id, judge === null ? 'graded' : 'without_text');
    return null;
  };
  if (text === null) return giveUp();
  const found = await documentTexts(plan, { ...query, text }, signal);
  if (found.kind === 'unreachable') return unreachable(deps, pipeline, found.message);
  const { texts } = found;
  if (texts.size === 0) return giveUp();
  await judged.recordTexts(pipeline, id, texts, clock.now());
  if (judge !== null) {
    const done = await judged.gradedDocuments(pipeline, id);
    const by = { textHash: textHash(text, hashKey), fingerprint: judge.fingerprint };
    for (const documentId of query.documentIds) {
      const document = texts.get(documentId);
      if (done.has(documentId) || document === undefined) continue;
      const left = await gradeDocument(deps, plan, judge, { id, text, documentId, document, by }, signal);
      if (left !== null) return left;
    }
  }
  await judged.close(pipeline, id, 'graded');
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
  deps: JudgingDeps,
  plan: JudgingPlan,
  judge: Judge,
  { id, text, documentId, document, by }: AskedDocument,
  signal: AbortSignal,
): Promise<Left | null> {
  const graded = await gradeText(deps, plan, judge, { text, document, by }, signal);
  if (graded === 'no_money' || graded === 'unreachable') return graded;
  const grade = { documentId, ...graded, contentHash: document.hash };
  await deps.judged.recordGrade(plan.pipeline, id, grade, by, deps.clock.now());
  return null;
}

/** The grade that the same judge gave the same texts before, for nothing, else the one that it gives now. */
export async function gradeText(
  deps: JudgingDeps,
  plan: JudgingPlan,
  judge: Judge,
  { text, document, by }: Pick<AskedDocument, 'text' | 'document' | 'by'>,
  signal: AbortSignal,
): Promise<Pick<ModelGrade, 'grade' | 'problem' | 'isFlagged'> | Left> {
  const before = await deps.judged.gradedBefore({ ...by, contentHash: document.hash });
  if (before !== null) return { ...before, problem: null };
  const answer = await askJudge(deps, plan, judge, { query: text, document: document.content }, signal);
  if (answer === 'no_money' || answer === 'unreachable') return answer;
  const { isFlagged } = answer;
  if (isFlagged) deps.meter.increment('recalld_judge_flagged_total', { pipeline: plan.pipeline });
  return answer.kind === 'failed'
    ? { grade: null, problem: answer.problem, isFlagged }
    : { grade: answer.grade, problem: null, isFlagged };
}
