/**
 * Grades agent turns: the results of all retrievals, and the results of new searches for the original and the rewritten
 * text.
 */

import type { Retriever } from '../connectors/retrievers/retriever.ts';
import { openThrottle, type Throttle } from '../connectors/throttle/throttle.ts';
import type { Context } from '../core/context.ts';
import { type EpisodeStep, episodeSteps, splitByPause } from '../live/rules/episodes.ts';
import { documentTexts, gradePooled, processQueue, storedText, unreachable } from './grade-queries.ts';
import type { Judge } from './judge.ts';
import type { JudgedRetrieval } from './judged-episodes.ts';
import type { JudgingPlan } from './plan.ts';
import { type EpisodeScores, rewritingScores } from './rules/episode-scores.ts';
import type { StoredText } from './rules/judge-prompt.ts';
import { RELEVANT_GRADE } from './rules/judged-scores.ts';

/** Limits on retriever requests for episodes: one at a time, so that they do not slow down users or golden runs. */
const LIMITS = { concurrency: 1, maxPerSecond: 2 } as const;

/**
 * Grades selected episodes, after queries and pools, which have priority when the budget is short.
 *
 * @throws the errors of processQueue
 */
export async function gradeEpisodes(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  signal: AbortSignal,
): Promise<void> {
  const { episodes } = context.db.judging;
  const { pipeline, depth: k } = plan;
  // The rate limiter is opened only when the first episode is graded, because most pipelines have no episodes.
  let throttle: Throttle | null = null;
  const retriever: Retriever = {
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
  const grade = async ({ id }: { readonly id: string }): Promise<void> => {
    const scores = await scoreEpisode(context, { ...plan, retriever }, judge, id, signal);
    await episodes.close(pipeline, id, scores, { fingerprint: judge.fingerprint, k });
  };
  try {
    await processQueue(
      context,
      pipeline,
      episodes,
      'agent turns expired: they could not be graded within a day',
      plan.episodeShare === 0 ? null : grade,
      signal,
    );
  } finally {
    await (throttle as Throttle | null)?.close();
  }
}

/**
 * Grades documents against the user's original text. Returns the grades, keyed by document id; null if any document
 * cannot be graded. A deleted document has grade 0.
 */
type Grader = (
  ids: readonly string[],
  texts: ReadonlyMap<string, StoredText>,
) => Promise<ReadonlyMap<string, number> | null>;

/**
 * Scores an episode.
 *
 * @returns null if the episode was erased, or if any of its documents cannot be graded
 * @throws DeferralError
 */
async function scoreEpisode(
  context: Context,
  plan: JudgingPlan,
  judge: Judge,
  id: string,
  signal: AbortSignal,
): Promise<EpisodeScores | null> {
  const found = await context.db.judging.episodes.retrievals(plan.pipeline, id);
  const own = splitByPause(found, plan.episodeIdleMs).find((part) => part.some((one) => one.id === id)) ?? [];
  const steps = episodeSteps(own);
  const need = steps.find(({ originalText }) => originalText !== null)?.originalText ?? null;
  const [first] = steps;
  if (first === undefined || need === null) return null;
  const gradeAll: Grader = async (ids, texts) => {
    const grades = new Map<string, number>();
    for (const document of ids) {
      const text = texts.get(document);
      const grade = text === undefined ? 0 : await gradePooled(context, plan, judge, { id, text: need }, text, signal);
      if (grade === null) return null;
      grades.set(document, grade);
    }
    return grades;
  };
  let isHit = false;
  for (const step of steps) {
    const graded = await gradeReturned(context, plan, step, gradeAll, signal);
    if (graded === null) return null;
    isHit ||= [...graded.values()].some((grade) => grade >= RELEVANT_GRADE);
  }
  if (first.text === null || first.text === need) return { isHit, rewriting: null };
  const rewritten = await gradeNow(context, plan, first.text, first.segments, gradeAll, signal);
  const original = rewritten && (await gradeNow(context, plan, need, first.segments, gradeAll, signal));
  if (rewritten === null || original === null) return null;
  const grades = new Map([...rewritten, ...original]);
  const rewriting = rewritingScores(
    [...rewritten.keys()],
    [...original.keys()],
    (document) => grades.get(document) ?? 0,
    plan.depth,
  );
  return { isHit, rewriting };
}

async function gradeReturned(
  context: Context,
  plan: JudgingPlan,
  { text, segments, embedding, outcome, documentIds }: EpisodeStep<JudgedRetrieval>,
  gradeAll: Grader,
  signal: AbortSignal,
): ReturnType<Grader> {
  const ids = [...new Set(documentIds)].slice(0, plan.depth);
  if (outcome !== 'ok' || ids.length === 0) return new Map();
  if (text === null) return null;
  return gradeAll(ids, await documentTexts(context, plan, text, embedding, segments, ids, signal));
}

/** Sends a text to the retriever now, and grades the top documents, best first. */
async function gradeNow(
  context: Context,
  plan: JudgingPlan,
  text: string,
  segments: Readonly<Record<string, string>>,
  gradeAll: Grader,
  signal: AbortSignal,
): ReturnType<Grader> {
  const answer = await plan.retriever.retrieve({ text, k: plan.depth, tags: segments, withText: true }, signal);
  if (answer.kind !== 'documents') throw unreachable(context, plan.pipeline, answer.message);
  const contents = new Map(answer.documents.map(({ id, text: content }) => [id, content ?? '']));
  const ids = [...contents.keys()].slice(0, plan.depth);
  const isComplete = ids.every((id) => contents.get(id)?.trim() !== '');
  const texts = isComplete
    ? new Map([...contents].map(([id, content]) => [id, storedText(content)]))
    : await documentTexts(context, plan, text, null, segments, ids, signal);
  return gradeAll(ids, texts);
}
