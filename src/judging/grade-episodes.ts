/**
 * Grades agent turns: the results of all retrievals, and the results of new searches for the original and the rewritten
 * text.
 */

import type { Retriever } from '../connectors/retrievers/retriever.ts';
import { openThrottle, type Throttle } from '../connectors/throttle/throttle.ts';
import { type EpisodeStep, episodeSteps, splitByPause } from '../live/rules/episodes.ts';
import { documentTexts, gradePooled, type ModelRound, processQueue, storedText, unreachable } from './grade-queries.ts';
import type { JudgedRetrieval } from './judged-episodes.ts';
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
export async function gradeEpisodes(round: ModelRound): Promise<void> {
  const { episodes } = round.db.judging;
  const { pipeline, depth: k, episodeShare } = round.plan;
  const { fingerprint } = round.judge;
  // The rate limiter is opened only when the first episode is graded, because most pipelines have no episodes.
  let throttle: Throttle | null = null;
  const retriever: Retriever = {
    async retrieve(request, asked) {
      throttle ??= await openThrottle(round, {
        pipeline,
        holder: `${round.holder}-episodes`,
        ...LIMITS,
        usualLatencyMs: null,
      });
      await throttle.enter(asked);
      let hasFailed = true;
      try {
        const answer = await round.plan.retriever.retrieve(request, asked);
        hasFailed = answer.kind !== 'documents';
        return answer;
      } finally {
        throttle.leave(null, hasFailed);
      }
    },
  };
  const throttled = { ...round, plan: { ...round.plan, retriever } };
  const grade = async ({ id }: { readonly id: string }): Promise<void> =>
    episodes.close(pipeline, id, await scoreEpisode(throttled, id), { fingerprint, k });
  const expiryMessage = 'agent turns expired: they could not be graded within a day';
  try {
    await processQueue(round, episodes, expiryMessage, episodeShare === 0 ? null : grade);
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
async function scoreEpisode(round: ModelRound, id: string): Promise<EpisodeScores | null> {
  const { pipeline, episodeIdleMs, depth } = round.plan;
  const found = await round.db.judging.episodes.retrievals(pipeline, id);
  const own = splitByPause(found, episodeIdleMs).find((part) => part.some((one) => one.id === id)) ?? [];
  const steps = episodeSteps(own);
  const need = steps.find(({ originalText }) => originalText !== null)?.originalText ?? null;
  const [first] = steps;
  if (first === undefined || need === null) return null;
  const gradeAll: Grader = async (ids, texts) => {
    const grades = new Map<string, number>();
    for (const document of ids) {
      const text = texts.get(document);
      const grade = text === undefined ? 0 : await gradePooled(round, { id, text: need }, text);
      if (grade === null) return null;
      grades.set(document, grade);
    }
    return grades;
  };
  let isHit = false;
  for (const step of steps) {
    const graded = await gradeReturned(round, step, gradeAll);
    if (graded === null) return null;
    isHit ||= [...graded.values()].some((grade) => grade >= RELEVANT_GRADE);
  }
  const { text: rewrite, segments } = first;
  if (rewrite === null || rewrite === need) return { isHit, rewriting: null };
  const rewritten = await gradeNow(round, rewrite, segments, gradeAll);
  const original = rewritten && (await gradeNow(round, need, segments, gradeAll));
  if (rewritten === null || original === null) return null;
  const gradeOf = (document: string): number => original.get(document) ?? rewritten.get(document) ?? 0;
  return { isHit, rewriting: rewritingScores([...rewritten.keys()], [...original.keys()], gradeOf, depth) };
}

async function gradeReturned(
  round: ModelRound,
  { text, outcome, documentIds, ...step }: EpisodeStep<JudgedRetrieval>,
  gradeAll: Grader,
): ReturnType<Grader> {
  const ids = [...new Set(documentIds)].slice(0, round.plan.depth);
  if (outcome !== 'ok' || ids.length === 0) return new Map();
  if (text === null) return null;
  return gradeAll(ids, await documentTexts(round, { ...step, text, documentIds: ids }));
}

/** Sends a text to the retriever now, and grades the top documents, best first. */
async function gradeNow(round: ModelRound, text: string, segments: JudgedRetrieval['segments'], gradeAll: Grader) {
  const { plan, signal } = round;
  const answer = await plan.retriever.retrieve({ text, k: plan.depth, tags: segments, withText: true }, signal);
  if (answer.kind !== 'documents') throw unreachable(round, answer.message);
  const contents = new Map(answer.documents.map(({ id, text: content }) => [id, content ?? '']));
  const ids = [...contents.keys()].slice(0, plan.depth);
  const isComplete = ids.every((id) => contents.get(id)?.trim() !== '');
  const texts = isComplete
    ? new Map([...contents].map(([id, content]) => [id, storedText(content)]))
    : await documentTexts(round, { text, embedding: null, segments, documentIds: ids });
  return gradeAll(ids, texts);
}
