/**
 * Grades selected agent turns: the results of all retrievals, against the original text. Also sends the original text
 * to the retriever, and compares the results with those of the rewritten text.
 */

import type { Retriever } from '../connectors/retrievers/retriever.ts';
import { openThrottle, type Throttle } from '../connectors/throttle/throttle.ts';
import type { Context } from '../core/context.ts';
import { textHash } from '../live/privacy/rules/redactor.ts';
import { type EpisodeStep, episodeSteps, splitByPause } from '../live/rules/episodes.ts';
import {
  type Deferral,
  documentTexts,
  expire,
  gradeText,
  processQueue,
  storedText,
  unreachable,
} from './grade-queries.ts';
import type { Judge } from './judge.ts';
import { type JudgedRetrieval, vectorOf } from './judged-episodes.ts';
import type { JudgingPlan } from './plan.ts';
import { type EpisodeScores, rewritingScores } from './rules/episode-scores.ts';
import type { StoredText } from './rules/judge-prompt.ts';
import { RELEVANT_GRADE } from './rules/judged-scores.ts';

/**
 * Maximum number of retriever requests per second for episodes, sent one at a time so that they do not slow down users
 * or golden runs.
 */
const LIMITS = { concurrency: 1, maxPerSecond: 2 } as const;

/**
 * Runs after `gradeQueries` and `gradePools`, so that queries have priority when the budget is short. Deferred episodes
 * wait for the next round and expire after a day. Each grade is stored at once, so that no grade is paid for twice.
 *
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function gradeEpisodes(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  signal: AbortSignal,
): Promise<void> {
  const { episodes } = context.db.judging;
  const { pipeline, depth: k } = plan;
  const message = 'agent turns expired: they could not be graded within a day';
  await expire(context, pipeline, message, (before) => episodes.expire(pipeline, before));
  if (plan.episodeShare === 0) return;
  // Opened for the first episode, because most pipelines have none.
  let throttle: Throttle | null = null;
  const limited: Retriever = {
    async retrieve(request, asked) {
      throttle ??= await openThrottle(context, {
        pipeline,
        holder: `${context.holder}-episodes`,
        ...LIMITS,
        usualLatencyMs: null,
      });
      await throttle.enter(asked);
      let hasFailed = true;
      try {
        const answer = await plan.retriever.retrieve(request, asked);
        hasFailed = answer.kind !== 'documents';
        return answer;
      } finally {
        throttle.leave(null, hasFailed);
      }
    },
  };
  const by = { fingerprint: judge.fingerprint, k };
  try {
    await processQueue(
      context.clock,
      signal,
      (due, leaseUntil) => episodes.claim(pipeline, due, leaseUntil),
      async ({ id }) => {
        const scores = await scoreEpisode(context, { ...plan, retriever: limited }, judge, id, signal);
        if (typeof scores === 'string') return scores;
        await episodes.close(pipeline, id, scores, by);
        return null;
      },
      (id, dueAt) => episodes.release(pipeline, id, dueAt),
    );
  } finally {
    await (throttle as Throttle | null)?.close();
  }
}

/** Returns null for an episode that was erased or has a document that the judge cannot grade. */
async function scoreEpisode(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  id: string,
  signal: AbortSignal,
): Promise<EpisodeScores | null | Deferral> {
  const found = await context.db.judging.episodes.retrievals(plan.pipeline, id);
  const own = splitByPause(found, plan.episodeIdleMs).find((part) => part.some((one) => one.id === id)) ?? [];
  const steps = episodeSteps(own);
  const need = steps.find(({ originalText }) => originalText !== null)?.originalText ?? null;
  const [first] = steps;
  if (first === undefined || need === null) return null;
  const grader = createGrader(context, plan, judge, id, need, signal);
  let isHit = false;
  for (const step of steps) {
    const graded = await gradeReturned(context, plan, step, grader, signal);
    if (graded === null || typeof graded === 'string') return graded;
    isHit ||= graded.some((grade) => grade >= RELEVANT_GRADE);
  }
  if (first.text === null || first.text === need) return { isHit, rewriting: null };
  const rewritten = await gradeNow(context, plan, first.text, first.segments, grader, signal);
  if (rewritten === null || typeof rewritten === 'string') return rewritten;
  const original = await gradeNow(context, plan, need, first.segments, grader, signal);
  if (original === null || typeof original === 'string') return original;
  const grades = new Map([...rewritten, ...original]);
  const rewriting = rewritingScores(
    [...rewritten.keys()],
    [...original.keys()],
    (document) => grades.get(document) ?? 0,
    plan.depth,
  );
  return { isHit, rewriting };
}

type Grader = (document: StoredText) => Promise<number | null | Deferral>;

/** Grades documents against the user's original text; null if the judge cannot grade one of them. */
function createGrader(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  id: string,
  text: string,
  signal: AbortSignal,
): Grader {
  const by = { textHash: textHash(text, context.hashKey), fingerprint: judge.fingerprint };
  return async (document) => {
    const graded = await gradeText(context, plan, judge, text, document, by, signal);
    if (graded === 'over_budget' || graded === 'unreachable') return graded;
    const { grade, isFlagged } = graded;
    if (grade === null) return null;
    const stored = { contentHash: document.hash, grade, isFlagged };
    await context.db.judging.judged.recordPoolJudgment(plan.pipeline, id, stored, by, context.clock.now());
    return grade;
  };
}

/** Returns the grades of the first documents that the user got; a deleted document has grade 0. */
async function gradeReturned(
  context: Context,
  plan: JudgingPlan,
  step: EpisodeStep<JudgedRetrieval>,
  grader: Grader,
  signal: AbortSignal,
): Promise<readonly number[] | null | Deferral> {
  const { text, segments } = step;
  const documentIds = [...new Set(step.documentIds)].slice(0, plan.depth);
  if (step.outcome !== 'ok' || documentIds.length === 0) return [];
  if (text === null) return null;
  const found = await documentTexts(plan, text, vectorOf(step), segments, documentIds, signal);
  if (found.kind === 'unreachable') return unreachable(context, plan.pipeline, found.message);
  const grades = await gradeAll(
    documentIds.map((id) => [id, found.texts.get(id) ?? null]),
    grader,
  );
  return grades === null || typeof grades === 'string' ? grades : [...grades.values()];
}

/**
 * Sends a text to the retriever, and returns the grades of the first returned documents by id, best-ranked document
 * first.
 */
async function gradeNow(
  context: Context,
  plan: JudgingPlan,
  text: string,
  segments: Readonly<Record<string, string>>,
  grader: Grader,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | null | Deferral> {
  const answer = await plan.retriever.retrieve({ text, k: plan.depth, tags: segments, withText: true }, signal);
  if (answer.kind !== 'documents') return unreachable(context, plan.pipeline, answer.message);
  const contents = new Map(answer.documents.map(({ id, text: content }) => [id, content ?? null]));
  const documentIds = [...contents.keys()].slice(0, plan.depth);
  const isComplete = documentIds.every((id) => (contents.get(id) ?? '').trim() !== '');
  const stored = isComplete
    ? new Map(documentIds.map((id) => [id, storedText(contents.get(id) ?? '')]))
    : await textsFromStore(plan, text, segments, documentIds, signal);
  if (typeof stored === 'string') return unreachable(context, plan.pipeline, stored);
  return gradeAll(
    documentIds.map((id) => [id, stored.get(id) ?? null]),
    grader,
  );
}

/** Reads texts that the retriever does not return. Returns the error message if the store is unreachable. */
async function textsFromStore(
  plan: JudgingPlan,
  text: string,
  segments: Readonly<Record<string, string>>,
  documentIds: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, StoredText> | string> {
  const found = await documentTexts(plan, text, null, segments, documentIds, signal);
  return found.kind === 'unreachable' ? found.message : found.texts;
}

async function gradeAll(
  documents: readonly (readonly [id: string, document: StoredText | null])[],
  grader: Grader,
): Promise<ReadonlyMap<string, number> | null | Deferral> {
  const grades = new Map<string, number>();
  for (const [id, document] of documents) {
    const grade = document === null ? 0 : await grader(document);
    if (grade === null || typeof grade === 'string') return grade;
    grades.set(id, grade);
  }
  return grades;
}
