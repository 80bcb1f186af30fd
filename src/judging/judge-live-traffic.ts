import type { Context } from '../core/context.ts';
import type { QueryOutcome } from '../core/model.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { toOtlpEvents } from '../platform/metrics/otlp.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { assumedCost, gradesPerQuery } from './expected-cost.ts';
import { gradeEpisodes } from './grade-episodes.ts';
import { gradePools, gradeQueries } from './grade-queries.ts';
import { checkJudgeDrift } from './judge-drift.ts';
import type { DrawnQuery, SampledQuery } from './judged-table.ts';
import { measureDrop, measureJudged } from './measure-judged.ts';
import type { JudgingPlan } from './plan.ts';
import { drawingProbabilities, judgeDraw } from './rules/drawing.ts';
import { evaluationsOf } from './rules/evaluation-events.ts';

/**
 * Runs one judging round for every pipeline. If a round is repeated, only its measurements are made again: no query is
 * selected or graded twice.
 *
 * @throws the errors of forEachPipeline
 */
export function judgeLiveTraffic(context: Context, plans: readonly JudgingPlan[], signal: AbortSignal): Promise<void> {
  return forEachPipeline(plans, signal, (plan) => judgePipeline(context, plan, signal, MIN_ROUND_MS));
}

/**
 * Runs one judging round for a pipeline.
 *
 * @param minRoundMs minimum time since the last round; if less has passed, only waiting queries are graded
 * @returns the number of selected queries; null if no round was due
 * @throws the reason of `signal`, and RecalldError database_unreachable
 */
export async function judgePipeline(context: Context, plan: JudgingPlan, signal: AbortSignal, minRoundMs: number) {
  const { db, clock } = context;
  const round = { ...context, plan, judge: plan.judge, signal };
  const current = await checkJudgeDrift(round);
  const drawn = await drawQueries(context, plan, minRoundMs);
  try {
    await gradeQueries({ ...round, judge: current?.judge ?? null });
    if (current !== null) {
      await gradePools({ ...round, judge: current.judge });
      await gradeEpisodes({ ...round, judge: current.judge });
    }
  } finally {
    // Measures even after an error, so that grades stored before the error are included.
    await measureJudged(round, current);
    await measureDrop(round, current);
    await sendEvaluations(context, plan);
    await db.judging.judged.prune(plan.pipeline, new Date(clock.now().getTime() - plan.retentionDays * DAY_MS));
  }
  return drawn;
}

/**
 * Delay before a query can be selected. During this delay, users can give feedback, and the sampling rate of the
 * query's minute becomes final.
 */
const FEEDBACK_DELAY_MS = 30 * MINUTE_MS;
/**
 * Minimum time between rounds. Jobs are scheduled hourly, but the minimum is shorter than an hour, because a job that
 * starts on time may follow a job that started late.
 */
const MIN_ROUND_MS = 50 * MINUTE_MS;
/**
 * Maximum number of failed and empty queries per round. These queries need no grades, because their scores are always
 * 0.
 */
const KNOWN_PER_ROUND = 200;
/**
 * Number of empty queries to compare with shadows for each selected query with documents. Empty queries are expensive:
 * users got no documents, so every document that a shadow returns for such a query must be graded.
 */
const SHADOWED_EMPTY_SHARE = 0.2;

/**
 * Selects gradable queries from those sampled since the last round, at a rate of `queries_per_day`. The number of
 * queries is prorated to the length of the round and limited by what remains of the daily budget. Also selects failed
 * and empty queries, which need no grades because their scores are always 0. If there is a model judge, a query with
 * results can be selected only if its text is stored.
 *
 * @param minRoundMs minimum length of a round
 * @returns the number of selected queries; null if no round is due
 */
async function drawQueries({ db, clock, meter }: Context, plan: JudgingPlan, minRoundMs: number) {
  const { pipeline, judge, maxCostPerDay } = plan;
  const now = clock.now();
  const until = new Date(now.getTime() - FEEDBACK_DELAY_MS);
  const { today, perQuery } = await db.judging.spending.spent(pipeline, now);
  const costOfQuery = perQuery ?? (judge === null ? 0 : gradesPerQuery(plan) * assumedCost(judge));
  let lost = 0;
  const drawn = await db.judging.judged.drawRound(plan, until, minRoundMs, (sampled, from) => {
    const roundMs = Math.min(DAY_MS, until.getTime() - from.getTime());
    const wanted = (plan.queriesPerDay * roundMs) / DAY_MS;
    const expected = Math.min(wanted, affordable(maxCostPerDay - today, costOfQuery, roundMs, now));
    const gradable = sampled.filter(({ outcome, hasText }) => outcome === 'ok' && (hasText || judge === null));
    lost = Math.max(0, Math.min(wanted, gradable.length) - expected);
    return { drawn: drawFrom(plan, sampled, gradable, expected), unaffordable: lost };
  });
  if (lost > 0) meter.increment('recalld_judge_unaffordable_queries_total', { pipeline }, lost);
  return drawn;
}

/**
 * Number of queries that can be graded within the round's share of `budget`, the remaining daily budget in US dollars.
 */
function affordable(budget: number, costOfQuery: number, roundMs: number, now: Date): number {
  if (costOfQuery === 0) return Number.POSITIVE_INFINITY;
  const dayLeftMs = Math.max(HOUR_MS, DAY_MS - (now.getTime() % DAY_MS));
  return (Math.max(0, budget) * Math.min(1, roundMs / dayLeftMs)) / costOfQuery;
}

function drawFrom(
  plan: JudgingPlan,
  sampled: readonly SampledQuery[],
  gradable: readonly SampledQuery[],
  expected: number,
): DrawnQuery[] {
  const known = sampled.filter(({ outcome }) => outcome !== 'ok');
  const empty = known.filter(({ outcome }) => outcome === 'empty').length;
  const emptyShare = Math.min(1, (SHADOWED_EMPTY_SHARE * expected) / Math.max(1, Math.min(empty, KNOWN_PER_ROUND)));
  const shadowShares = { ok: 1, empty: emptyShare, error: 0, timeout: 0 } as const;
  return [...drawSome(plan, gradable, expected, shadowShares), ...drawSome(plan, known, KNOWN_PER_ROUND, shadowShares)];
}

/**
 * @param shadowShares for each outcome, the share of the selected queries that are also compared with shadows; 0 for
 *   failed queries, because a comparison would show nothing
 */
function drawSome(
  plan: JudgingPlan,
  queries: readonly SampledQuery[],
  expected: number,
  shadowShares: Readonly<Record<QueryOutcome, number>>,
): DrawnQuery[] {
  const { pipeline, humanShare, secondReviewerShare, segmentKeys, pooling, episodeShare } = plan;
  const drawChances = drawingProbabilities(
    queries.map(({ probability, segments, isSuspect }) => ({
      represents: 1 / probability,
      segment: JSON.stringify(segmentKeys.map((key) => segments[key] ?? null)),
      isSuspect,
    })),
    expected,
  );
  return queries.flatMap((query, index) => {
    const chance = drawChances[index] ?? 0;
    const draw = judgeDraw(pipeline, query.sessionHash, 'model');
    if (draw >= chance) return [];
    const shadowChance = chance * shadowShares[query.outcome];
    const { sessionHash, hasText: _, isSuspect: __, isFirstOfEpisode, probability, ...drawn } = query;
    const humanDraw = judgeDraw(pipeline, sessionHash, 'people');
    const needsHuman = humanDraw < humanShare;
    const shadowProbability = draw < shadowChance ? probability * shadowChance : null;
    const needsSecondHuman = needsHuman && judgeDraw(pipeline, sessionHash, 'second') < secondReviewerShare;
    const drawnProbability = probability * chance;
    // Pooling would not change the score of a failed or empty query.
    const poolShare = query.outcome === 'ok' ? (pooling?.share ?? 0) : 0;
    const poolProbability =
      judgeDraw(pipeline, sessionHash, 'deeper') < poolShare ? drawnProbability * poolShare : null;
    const isWhole = isFirstOfEpisode && judgeDraw(pipeline, sessionHash, 'episode') < episodeShare;
    const episodeProbability = isWhole ? drawnProbability * episodeShare : null;
    const chances = { drawnProbability, shadowProbability, poolProbability, episodeProbability };
    return [{ ...drawn, ...chances, humanDraw, needsHuman, needsSecondHuman }];
  });
}

/** Maximum number of queries per request; each query has four events. */
const QUERIES_PER_REQUEST = 250;
/**
 * Maximum age of a query whose scores are sent. Grades arrive within a day or never; scores that could not be sent are
 * dropped one day later.
 */
const MAX_DELAY_MS = 2 * DAY_MS;

/**
 * Sends the model's scores at least once: if a process dies before recording a request, the request is sent again.
 * Requests that the platform refused are not retried; failed requests are retried in the next round.
 */
async function sendEvaluations(context: Context, { pipeline, depth, judge }: JudgingPlan): Promise<void> {
  const { db, config, clock, meter, logger } = context;
  const isSent = context.otlp !== null && config.metrics.otlp?.send.includes('evaluations') === true;
  const otlp = isSent ? context.otlp : null;
  if (otlp === null || judge === null) return;
  const since = new Date(clock.now().getTime() - MAX_DELAY_MS);
  for (;;) {
    const queries = await db.judging.evaluations.unsent(pipeline, since, QUERIES_PER_REQUEST);
    if (queries.length === 0) return;
    const events = queries.flatMap((query) => evaluationsOf(query, pipeline, depth));
    const refusal = await otlp.send('logs', toOtlpEvents(events, otlp.reporter, clock.now()));
    const outcome = refusal === null ? 'sent' : refusal.isPartial ? 'refused' : 'failed';
    meter.increment('recalld_evaluation_requests_total', { pipeline, outcome });
    if (refusal !== null) logger.warn('sending scores via OTLP failed', { pipeline, reason: refusal.reason });
    if (outcome === 'failed') return;
    await db.judging.evaluations.recordSent(
      pipeline,
      queries.map(({ id }) => id),
      clock.now(),
    );
  }
}
