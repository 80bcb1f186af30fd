import type { Context } from '../../core/context.ts';
import type { ContextSize } from '../../core/text/context-size.ts';
import { type MetricSummary, summarize } from '../../math/stats/descriptive.ts';
import type { Measurement, MeasurementOutcome } from '../../measures/rules/measurement.ts';
import { forEachPipeline } from '../../platform/queue/for-each-pipeline.ts';
import { createEventLoopYield } from '../../platform/threads/event-loop-yield.ts';
import { stabilityOf } from '../rules/compare-runs.ts';
import { falseAnswerRatio } from '../rules/forbidden-results.ts';
import { goldenSegment } from '../rules/golden-set.ts';
import { boundedShare, failedShare, type GoldenRun, type RunStages } from '../rules/run.ts';

const ERRORS = 'retriever_error_ratio';
const LATENCY = 'retriever_latency_p95_seconds';
export const FALSE_ANSWERS = 'false_answer_ratio';
/** Recall of the first stage; the details contain the shares of documents that each stage keeps and loses. */
export const CANDIDATES = 'candidates_recall';
export const CONTEXT_CHARACTERS = 'golden_context_characters';
export const CONTEXT_REPEATED = 'golden_context_repeated_ratio';
/** Name of the stability measure. Checks name the measure with its cutoff: `rbo@10`. */
export const STABILITY = 'rbo';
/** Number of latest runs to read per set; between two calls to `measureRetrievers`, fewer runs than this end. */
const RECENT = 5;

/**
 * For the latest finished runs that have no measurement yet, measures the share of queries that failed or timed out,
 * the p95 latency of the other queries, the overlap of the results with those of the pinned run, and the size of the
 * returned texts. For completed runs, also measures the recall of the first stage and the share of unanswerable queries
 * that returned documents. Skips cancelled runs. All measurements have the segment `golden_set=<name>`.
 *
 * @throws the errors of forEachPipeline
 */
export async function measureRetrievers(context: Context): Promise<void> {
  const now = context.clock.now();
  const latest = await context.db.measurements.latest(now);
  // Does not stop on a signal: each set needs only a few database statements, and the subsequent checks need the
  // measurements of all sets.
  const unbounded = new AbortController().signal;
  await forEachPipeline(context.pipelines, unbounded, async ({ name: pipeline, golden }) => {
    for (const { set } of golden) {
      const segment = goldenSegment(set);
      const measured = latest.find(
        (one) => one.pipeline === pipeline && one.measure === ERRORS && one.segment === segment,
      );
      const runs = await context.db.golden.runs.list({ pipeline, goldenSet: set, limit: RECENT });
      for (const run of runs.filter(isEnded).toReversed()) {
        const measuredUntil = measured?.newest?.windowEnd;
        if (measuredUntil === undefined || measuredUntil < run.finishedAt)
          await context.db.measurements.record(await measure(context, run, segment, now));
      }
    }
  });
}

type EndedRun = GoldenRun & { readonly finishedAt: Date };

function isEnded(run: GoldenRun): run is EndedRun {
  return run.finishedAt !== null && run.status !== 'cancelled';
}

async function measure(context: Context, run: EndedRun, segment: string, now: Date): Promise<MeasurementOutcome[]> {
  const { db } = context;
  const outcomes = await db.golden.runs.outcomes(run.id);
  const n = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  if (n === 0) return [];
  const frame = {
    kind: 'value',
    pipeline: run.pipeline,
    segment,
    windowStart: run.startedAt,
    windowEnd: run.finishedAt,
    measuredAt: now,
    details: {},
  } as const;
  const stability = await measureStability(context, run);
  const known: Measurement[] = [
    { ...frame, measure: ERRORS, ...boundedShare(failedShare(outcomes), n) },
    ...(stability === null ? [] : [{ ...frame, ...stability }]),
    ...measureContexts(await context.db.golden.runs.contexts(run.id)).map((one) => ({ ...frame, ...one })),
    ...measureStages(run.stages).map((one) => ({ ...frame, ...one })),
    ...(run.noAnswer === null || run.status !== 'completed'
      ? []
      : [{ ...frame, measure: FALSE_ANSWERS, ...falseAnswerRatio(run.noAnswer) }]),
  ];
  const latency = await db.golden.runs.latency95(run.id);
  if (latency === null) return known;
  const unbounded = { ciLow: null, ciHigh: null, ciMethod: null } as const;
  const answered = outcomes.ok + outcomes.empty;
  return [...known, { ...frame, measure: LATENCY, value: latency / 1000, ...unbounded, n: answered }];
}

function measureStages(stages: RunStages | null) {
  const first = stages?.steps[0]?.recall;
  return first === undefined ? [] : [{ measure: CANDIDATES, ...valueOf(first), details: { stages } }];
}

function valueOf({ mean: value, n, ciLow, ciHigh, ciMethod }: MetricSummary) {
  return { value, n, ciLow, ciHigh, ciMethod };
}

function measureContexts(contexts: readonly ContextSize[]) {
  if (contexts.length === 0) return [];
  const lengths = contexts.map(({ characters }) => characters);
  const repeated = contexts.map((one) => one.repeated);
  return [
    ...(lengths.length < 2 ? [] : [meanOf(CONTEXT_CHARACTERS, lengths, 'dcg')]),
    meanOf(CONTEXT_REPEATED, repeated, 'ndcg'),
  ];
}

/** @param like a measure with the same range of values; this range determines the interval method */
function meanOf(measure: string, values: readonly number[], like: 'dcg' | 'ndcg') {
  return { measure, ...valueOf(summarize(values, like)) };
}

async function measureStability({ db }: Context, run: EndedRun) {
  const pinned = await db.golden.baselines.pinned(run.pipeline, run.goldenSet);
  if (pinned === null || pinned.runId === run.id) return null;
  const [before, now] = await Promise.all([db.golden.runs.answers(pinned.runId), db.golden.runs.answers(run.id)]);
  const k = Math.max(...run.settings.cutoffs);
  const answers = new Map(now.map((answer) => [answer.queryId, answer]));
  const turn = createEventLoopYield(QUERIES_PER_TURN);
  const overlaps: ReturnType<typeof stabilityOf> = [];
  for (let from = 0; from < before.length; from += QUERIES_PER_TURN) {
    await turn(QUERIES_PER_TURN);
    overlaps.push(...stabilityOf(before.slice(from, from + QUERIES_PER_TURN), answers, k));
  }
  if (overlaps.length === 0) return null;
  const values = overlaps.map(({ overlap }) => overlap);
  const details = {
    k,
    against: pinned.runId,
    least: overlaps.toSorted((a, b) => a.overlap - b.overlap).slice(0, MAX_NAMED),
  };
  return { ...meanOf(STABILITY, values, 'ndcg'), details };
}

/** Maximum number of queries in the list of the most changed results. */
const MAX_NAMED = 5;
/** Number of queries per turn of the event loop; a turn occupies the main thread for a few milliseconds. */
const QUERIES_PER_TURN = 500;
