import { ofKind } from '../../checks/rules/golden-checks.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import type { ProbedPipeline } from '../../index/probes/probes.ts';
import { occurrencesBetween } from '../../math/schedule/occurrences.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import { findJudgmentProblems } from '../rules/judgment-problems.ts';
import { judgedDocuments } from '../rules/labels.ts';
import { type DropCheck, describePower, usualCheck } from '../rules/run-noise.ts';
import { isQuiet } from '../rules/schedule.ts';
import { sampleAnswers } from '../runs/ask-retriever.ts';
import type { GoldenBaselines } from '../sql/golden-baselines.ts';
import { type GoldenSchedule, scheduleOf, type WatchedPipeline } from '../watched-pipeline.ts';
import { findVersion } from './import-golden-set.ts';
import { measureLiveMix } from './live-mix.ts';
import { findReplacements } from './missing-documents.ts';
import { recordJudgedDocuments } from './record-judged-documents.ts';

/**
 * Checks the judgments of a golden set, and whether the set represents live traffic. If the store, the embedder or live
 * queries are missing, each result that depends on them contains the reason instead of a value.
 *
 * @param since start of the live traffic to compare with
 */
export async function checkGoldenSet(
  context: Context,
  pipeline: ProbedPipeline,
  queries: readonly GoldenQuery[],
  { relevanceLevel, since }: { readonly relevanceLevel: number; readonly since: Date },
  signal: AbortSignal,
) {
  const found = await findReplacements(context, pipeline, queries, relevanceLevel, signal);
  return {
    ...found,
    problems: findJudgmentProblems(queries, relevanceLevel),
    recorded: await recordJudgedDocuments(context, pipeline, judgedDocuments(queries), signal),
    representativeness: await measureLiveMix(context.db.live.samples, pipeline, queries, since, signal),
  };
}

export type CheckedSet = Awaited<ReturnType<typeof checkLatestVersion>>;

/**
 * Checks the latest version of a set against the live queries from the last week.
 *
 * @throws RecalldError golden_set_unknown, golden_set_empty
 */
export async function checkLatestVersion(
  context: Context,
  pipeline: WatchedPipeline,
  name: string,
  signal: AbortSignal,
) {
  const set = await findVersion(context.db.golden.sets, name);
  const queries = judgedQueries(await context.db.golden.sets.queries(set.name, set.version));
  if (queries.length === 0) {
    throw new RecalldError('golden_set_empty', `${set.name} version ${set.version} has no judged queries.`);
  }
  const schedule = scheduleOf(pipeline, set.name);
  const { relevanceLevel } = schedule.settings;
  const now = context.clock.now();
  const since = new Date(now.getTime() - 7 * DAY_MS);
  const check = await checkGoldenSet(context, pipeline, queries, { relevanceLevel, since }, signal);
  const answers = await sampleAnswers(pipeline, set.name, queries, signal);
  const use = { pipeline: pipeline.name, schedule, checks: ofKind(pipeline.checks, 'regression') };
  return {
    set,
    queries,
    check,
    /** The retriever's results for a sample of the queries. */
    answers,
    /** Sentences that describe the drops that each check can detect. */
    power: await powerOfSet(context.db.golden.baselines, use, queries.length, now),
  };
}

/** True if the set has a problem to fix. Findings on size, number of results or live coverage are only advice. */
export function hasProblems({ check, answers }: Pick<CheckedSet, 'check' | 'answers'>): boolean {
  if (answers.kind === 'answers' && answers.warnings.ids !== null) return true;
  const { labels, problems } = check;
  const { duplicates, contradictions, withoutRelevant } = problems;
  const missing = labels.kind === 'probed' ? labels.stale + labels.lost : 0;
  return missing + duplicates.length + contradictions.length + withoutRelevant.length > 0;
}

export interface SetUse {
  readonly pipeline: string;
  readonly schedule: GoldenSchedule;
  /** Configured checks; if empty, the default check on nDCG is described. */
  readonly checks: readonly DropCheck[];
}

/**
 * Returns, for each check, a sentence that describes the drops that the check can detect.
 *
 * @param queries number of queries in the set; it differs from the number in the pinned run if a newer version of the
 *   set has more or fewer queries
 */
export async function powerOfSet(
  baselines: GoldenBaselines,
  { pipeline, schedule, checks }: SetUse,
  queries: number,
  now: Date,
): Promise<string[]> {
  const pinned = await baselines.pinned(pipeline, schedule.set);
  const usual = { ...usualCheck, measure: `ndcg@${Math.max(...schedule.settings.cutoffs)}` };
  return (checks.length === 0 ? [usual] : checks).map((check) =>
    describePower(pinned?.noise[ALL_SEGMENT]?.[check.measure] ?? null, queries, check, runsPerDay(schedule, now)),
  );
}

function runsPerDay({ cron, quietHours, timezone }: GoldenSchedule, now: Date): number {
  if (cron === null) return 0;
  const ticks = occurrencesBetween(cron, now, new Date(now.getTime() + 7 * DAY_MS));
  return Math.floor(ticks.filter((tick) => !isQuiet(quietHours, timezone, tick)).length / 7);
}
