/**
 * Sends judged live queries to shadows, judges their results, and compares them daily with the results that users got.
 */

import type { FoundDocument } from '../connectors/retrievers/retriever.ts';
import type { Context } from '../core/context.ts';
import { HOUR_MS } from '../core/time.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import { DeferralError, gradePooled, type ModelRound, type Round, storedText } from '../judging/grade-queries.ts';
import { askQueries, forEachShadow, liveCallsLeft, startOfUtcDay } from './ask-shadow.ts';
import { keyOf } from './context.ts';
import { scorePair, sumPairs } from './rules/live-pairs.ts';
import { judgedSeries } from './sql/interim-analyses.ts';
import type { ShadowAnswer, UnaskedQuery } from './sql/shadow-answers.ts';

/**
 * Maximum age of a query, given that queries are selected hourly. For older queries, the index may differ from the
 * index that returned the user's results.
 */
const PATIENCE_MS = 4 * HOUR_MS;

/**
 * Runs one round for every shadow. A query that was selected for judging is sent to the shadow after the results that
 * the user got have been graded. The round stays within the shadow's call budget and the judge's remaining daily
 * budget. The round uses all stored grades, including those from earlier rounds. If a round is repeated, no query is
 * sent a second time.
 *
 * @throws the errors of forEachShadow
 */
export async function judgeShadows(context: Context, signal: AbortSignal): Promise<void> {
  await forEachShadow(context.pipelines, signal, async (pipeline, shadow) => {
    const plan = context.judgingPlans.find((one) => one.pipeline === pipeline.name);
    if (plan === undefined || shadow.judgedDepth === null) return;
    await judgeShadow({ ...context, plan, judge: plan.judge, signal }, pipeline, shadow);
  });
}

async function judgeShadow(round: Round, pipeline: WatchedPipeline, shadow: Shadow): Promise<void> {
  const { db, clock, judge } = round;
  const { depth: k } = round.plan;
  const key = keyOf(pipeline, shadow);
  if (judge !== null) await pairQueries({ ...round, judge }, pipeline, shadow);
  const now = clock.now();
  const summed = new Set((await db.experiments.analyses.days(key, judgedSeries(k))).map(({ day }) => day));
  const ended = startOfUtcDay(new Date(now.getTime() - PATIENCE_MS));
  for (const day of await db.experiments.answers.judgedDays(key, k, ended)) {
    if (summed.has(day)) continue;
    const { pairs, leftOut } = await db.experiments.answers.pairsOf(key, k, day);
    await db.experiments.analyses.saveDay(key, judgedSeries(k), sumPairs(day, pairs, leftOut), now);
  }
}

async function pairQueries(configured: ModelRound, pipeline: WatchedPipeline, shadow: Shadow): Promise<void> {
  const { db, plan, judge } = configured;
  const { depth: k } = plan;
  const now = configured.clock.now();
  const { identity } = await db.judging.panels.current(plan.pipeline, judge.fingerprint, now);
  const round = { ...configured, judge: { ...judge, fingerprint: identity } };
  const limit = await liveCallsLeft(round, pipeline, shadow);
  if (limit <= 0) return;
  const since = new Date(now.getTime() - PATIENCE_MS);
  const asked = { since, judge: identity, limit };
  await askQueries(round, {
    pipeline,
    shadow,
    queries: await db.experiments.answers.unjudged(keyOf(pipeline, shadow), asked),
    // The judge grades one document at a time.
    lanes: 1,
    work: 'judged',
    withText: true,
    depth: () => k,
    async compare(query, found) {
      const returned = found === null ? null : contentsOf(shadow, query, found, k);
      try {
        return { judged: { k, scores: returned === null ? null : await scorePairOf(round, query, returned) } };
      } catch (error) {
        if (error instanceof DeferralError) return null;
        throw error;
      }
    },
  });
}

/** Returns the contents of the shadow's top k documents; null if any of them cannot be read. */
function contentsOf(
  { chunkSeparator }: Shadow,
  { documents }: UnaskedQuery,
  found: readonly FoundDocument[],
  k: number,
) {
  // If the shadow has a different index, a chunk id may belong to a different text there.
  const same = chunkSeparator === null ? documents : [];
  const best = [...new Map(found.map((one) => [one.id, one])).values()].slice(0, k);
  const contents = best.flatMap(({ id, text }) => {
    // If users got the same document, its text is already graded under the same hash.
    const shown = same.find((one) => one.id === id)?.hash;
    if (shown != null) return [{ hash: shown, text: null as string | null }];
    if (text == null || text.trim() === '') return [];
    const stored = storedText(text);
    return [{ hash: stored.hash, text: stored.content }];
  });
  return contents.length < best.length ? null : contents;
}

/**
 * Returns null if a document in either list has no grade.
 *
 * @throws DeferralError if the budget is spent, or if the judge does not respond
 */
async function scorePairOf(
  round: ModelRound,
  query: UnaskedQuery,
  returned: NonNullable<ReturnType<typeof contentsOf>>,
): Promise<NonNullable<ShadowAnswer['judged']>['scores']> {
  const { documents } = query;
  const grades = new Map<string, number>();
  for (const { hash, grade } of documents) {
    if (hash === null || grade === null) return null;
    grades.set(hash, grade);
  }
  for (const { hash, text } of returned) {
    if (grades.has(hash) || text === null) continue;
    const grade = await gradePooled(round, query, { hash, content: text });
    if (grade === null) return null;
    grades.set(hash, grade);
  }
  const [shown, own] = [documents, returned].map((list) => [...new Set(list.flatMap(({ hash }) => hash ?? []))]);
  return scorePair(shown ?? [], own ?? [], grades, round.plan.depth);
}
