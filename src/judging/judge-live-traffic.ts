/** Judges the live traffic of every pipeline whose config says so: draws, grades, measures, sends. */

import type { Context } from '../core/context.ts';
import type { QueryOutcome } from '../core/model.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { toOtlpEvents } from '../platform/metrics/otlp.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { gradesPerQuery, guessedCost } from './expected-cost.ts';
import { gradePools, gradeQueries } from './grade-queries.ts';
import { checkJudgeDrift } from './judge-drift.ts';
import type { DrawnQuery, SampledQuery } from './judged-table.ts';
import { measureDrop, measureJudged } from './measure-judged.ts';
import type { JudgingPlan } from './plan.ts';
import { drawingProbabilities, judgeDraw } from './rules/drawing.ts';
import { evaluationsOf } from './rules/evaluation-events.ts';

/**
 * One round of every pipeline. Repeating it draws no query twice and grades no document twice; it only measures again.
 * A judge, retriever or store that does not answer is counted (`recalld_judge_failures_total`), and what it left waits
 * for the next round.
 *
 * @throws as forEachPipeline
 */
export function judgeLiveTraffic(context: Context, plans: readonly JudgingPlan[], signal: AbortSignal): Promise<void> {
  return forEachPipeline(plans, signal, (plan) => judgePipeline(context, plan, signal, MIN_ROUND_MS));
}

/**
 * One round of one pipeline.
 *
 * @param leastMs a shorter time since the last round draws nothing; what waits is graded all the same
 * @returns queries that were drawn; null when nothing was due
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function judgePipeline(
  context: Context,
  plan: JudgingPlan,
  signal: AbortSignal,
  leastMs: number,
): Promise<number | null> {
  const { db, clock } = context;
  const current = await checkJudgeDrift(context, plan, signal);
  const drawn = await drawQueries(context, plan, leastMs);
  try {
    await gradeQueries(context, { ...plan, judge: current?.judge ?? null }, signal);
    if (current !== null) await gradePools(context, plan, current.judge, signal);
  } finally {
    // What was graded counts, also where the rest takes another round.
    await measureJudged(context, plan, current);
    await measureDrop(context, plan, current);
    await sendEvaluations(context, plan);
    await db.judging.judged.prune(plan.pipeline, new Date(clock.now().getTime() - plan.retentionDays * DAY_MS));
  }
  return drawn;
}

/** By then users have said whether they were unhappy, and the minute has its closing rate. */
const SETTLED_MS = 30 * MINUTE_MS;
/** Rounds are made by an hourly job, which may be early by what it was late before. */
const MIN_ROUND_MS = 50 * MINUTE_MS;
/** Failed and empty queries cost nothing, and so many of a round tell enough of them. */
const KNOWN_PER_ROUND = 200;
/** To what a shadow brings where users got nothing no list is graded before: so many of them for each query with a list. */
const EMPTY_BESIDE_SHADOWS = 0.2;

/**
 * Draws of what was kept since the last round: `queries_per_day` of those that have something to grade, in proportion to
 * the length of the round and no more than the rest of the day's money pays for. Queries that failed or found nothing
 * score 0 without being asked about. A query that was answered and whose text is not stored cannot be drawn.
 *
 * @param leastMs a shorter round is not made
 * @returns queries that were drawn; null when no round is due
 */
async function drawQueries({ db, clock, meter }: Context, plan: JudgingPlan, leastMs: number): Promise<number | null> {
  const { pipeline, depth, judge, maxCostPerDay } = plan;
  const now = clock.now();
  const until = new Date(now.getTime() - SETTLED_MS);
  const { today, perQuery } = await db.judging.spending.spent(pipeline, now);
  const costOfQuery = perQuery ?? (judge === null ? 0 : gradesPerQuery(plan) * guessedCost(judge));
  let lost = 0;
  const drawn = await db.judging.judged.drawRound({ pipeline, until, depth, leastMs }, (kept, from) => {
    const roundMs = Math.min(DAY_MS, until.getTime() - from.getTime());
    const wanted = (plan.queriesPerDay * roundMs) / DAY_MS;
    const expected = Math.min(wanted, affordable(maxCostPerDay - today, costOfQuery, roundMs, now));
    const gradable = kept.filter(({ outcome, hasText }) => outcome === 'ok' && (hasText || judge === null));
    lost = Math.max(0, Math.min(wanted, gradable.length) - expected);
    return { drawn: drawOf(plan, kept, gradable, expected), unaffordable: lost };
  });
  if (lost > 0) meter.increment('recalld_judge_unaffordable_queries_total', { pipeline }, lost);
  return drawn;
}

/** As many queries as the round's part of what is left of the day's money pays for. */
function affordable(left: number, costOfQuery: number, roundMs: number, now: Date): number {
  if (costOfQuery === 0) return Number.POSITIVE_INFINITY;
  const dayLeftMs = Math.max(HOUR_MS, DAY_MS - (now.getTime() % DAY_MS));
  return (Math.max(0, left) * Math.min(1, roundMs / dayLeftMs)) / costOfQuery;
}

function drawOf(
  plan: JudgingPlan,
  kept: readonly SampledQuery[],
  gradable: readonly SampledQuery[],
  expected: number,
): DrawnQuery[] {
  const known = kept.filter(({ outcome }) => outcome !== 'ok');
  const empty = known.filter(({ outcome }) => outcome === 'empty').length;
  const emptyShare = Math.min(1, (EMPTY_BESIDE_SHADOWS * expected) / Math.max(1, Math.min(empty, KNOWN_PER_ROUND)));
  const besideShadows = { ok: 1, empty: emptyShare, error: 0, timeout: 0 } as const;
  return [
    ...drawSome(plan, gradable, expected, besideShadows),
    ...drawSome(plan, known, KNOWN_PER_ROUND, besideShadows),
  ];
}

/** @param besideShadows share of what is drawn that is held beside shadows too: nothing is learnt from a failure */
function drawSome(
  plan: JudgingPlan,
  queries: readonly SampledQuery[],
  expected: number,
  besideShadows: Readonly<Record<QueryOutcome, number>>,
): DrawnQuery[] {
  const { pipeline, humanShare, secondReviewerShare, segmentKeys, pooling } = plan;
  const chances = drawingProbabilities(
    queries.map(({ probability, segments, isSuspect }) => ({
      standsFor: 1 / probability,
      segment: JSON.stringify(segmentKeys.map((key) => segments[key] ?? null)),
      isSuspect,
    })),
    expected,
  );
  return queries.flatMap((query, index) => {
    const chance = chances[index] ?? 0;
    const draw = judgeDraw(pipeline, query.sessionHash, 'model');
    if (draw >= chance) return [];
    const besideChance = chance * besideShadows[query.outcome];
    const { sessionHash, hasText: _, isSuspect: __, probability, ...drawn } = query;
    const humanDraw = judgeDraw(pipeline, sessionHash, 'people');
    const needsHuman = humanDraw < humanShare;
    const shadowProbability = draw < besideChance ? probability * besideChance : null;
    const needsSecondHuman = needsHuman && judgeDraw(pipeline, sessionHash, 'second') < secondReviewerShare;
    const drawnProbability = probability * chance;
    // What failed or found nothing is no better off with a longer list.
    const poolShare = query.outcome === 'ok' ? (pooling?.share ?? 0) : 0;
    const poolProbability =
      judgeDraw(pipeline, sessionHash, 'deeper') < poolShare ? drawnProbability * poolShare : null;
    return [
      { ...drawn, drawnProbability, shadowProbability, poolProbability, humanDraw, needsHuman, needsSecondHuman },
    ];
  });
}

/** Four events each. */
const QUERIES_PER_REQUEST = 250;
/** Grades come within a day or never; what could not be sent a day later is given up. */
const PATIENCE_MS = 2 * DAY_MS;

/**
 * Sends what the model graded since the last time, at least once: a process that dies between sending and noting it sends
 * again. What the receiver refuses is not sent again, and what did not arrive is tried again in the next round.
 */
async function sendEvaluations(context: Context, { pipeline, depth, judge }: JudgingPlan): Promise<void> {
  const { db, config, clock, meter, logger } = context;
  const isSent = context.otlp !== null && config.metrics.otlp?.send.includes('evaluations') === true;
  const otlp = isSent ? context.otlp : null;
  if (otlp === null || judge === null) return;
  const since = new Date(clock.now().getTime() - PATIENCE_MS);
  for (;;) {
    const queries = await db.judging.evaluations.unsent(pipeline, since, QUERIES_PER_REQUEST);
    if (queries.length === 0) return;
    const events = queries.flatMap((query) => evaluationsOf(query, pipeline, depth));
    const refusal = await otlp.send('logs', toOtlpEvents(events, otlp.reporter, clock.now()));
    const outcome = refusal === null ? 'sent' : refusal.isPartial ? 'refused' : 'failed';
    meter.increment('recalld_evaluation_requests_total', { pipeline, outcome });
    if (refusal !== null) logger.warn('evaluations are not sent by OTLP', { pipeline, reason: refusal.reason });
    if (outcome === 'failed') return;
    await db.judging.evaluations.recordSent(
      pipeline,
      queries.map(({ id }) => id),
      clock.now(),
    );
  }
}
