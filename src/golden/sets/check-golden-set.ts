/**
 * Looks a golden set over: labels, duplicates, contradictions, how well it stands for live traffic, and what falls it
 * can find.
 */

import { ofKind } from '../../checks/rules/golden-checks.ts';
import type { Context } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { ALL_SEGMENT, type GoldenQuery } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import type { ProbedPipeline } from '../../index/probes/probes.ts';
import { occurrencesBetween } from '../../math/schedule/occurrences.ts';
import { judgedQueries } from '../rules/golden-set.ts';
import { findJudgmentProblems } from '../rules/judgment-problems.ts';
import { judgedDocuments, proposeLabels } from '../rules/labels.ts';
import { type DropCheck, describePower, usualCheck } from '../rules/run-noise.ts';
import { isQuiet } from '../rules/schedule.ts';
import { sampleAnswers } from '../runs/ask-retriever.ts';
import type { GoldenBaselines } from '../sql/golden-baselines.ts';
import { type GoldenSchedule, scheduleOf, type WatchedPipeline } from '../watched-pipeline.ts';
import { findLostDocuments, probeStoredLabels } from './gone-documents.ts';
import { findVersion } from './import-golden-set.ts';
import { liveMixOf } from './live-mix.ts';
import { recordJudgedDocuments } from './record-judged-documents.ts';
/**
 * Works with what there is: without a store, an embedder or live queries the parts that need them say why they are
 * missing.
 *
 * @param since live queries are taken from then on
 */
export async function checkGoldenSet(
  context: Context,
  pipeline: ProbedPipeline,
  queries: readonly GoldenQuery[],
  { relevanceLevel, since }: { readonly relevanceLevel: number; readonly since: Date },
  signal: AbortSignal,
) {
  const labels = await probeStoredLabels(context, pipeline, queries, relevanceLevel, signal);
  const recorded = await recordJudgedDocuments(context, pipeline, judgedDocuments(queries), signal);
  const stale = labels.kind === 'probed' ? labels.labels : [];
  const gone = [...new Set(stale.map(({ documentId }) => documentId))];
  const lost = await findLostDocuments(context.db.golden.documents, pipeline, gone, signal);
  return {
    labels,
    problems: findJudgmentProblems(queries, relevanceLevel),
    lost,
    proposals: proposeLabels(stale, lost.anchors),
    recorded,
    representativeness: await liveMixOf(context.db.live.samples, pipeline, queries, since, signal),
  };
}

export type CheckedSet = Awaited<ReturnType<typeof checkLatestVersion>>;

/**
 * Looks the latest version of a set over, against the live queries of the last week.
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
    throw new RecalldError('golden_set_empty', `${set.name} version ${set.version} holds no judged queries.`);
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
    /** What the retriever answers to some of its questions. */
    answers,
    /** What falls it can find, a sentence for each check. */
    power: await powerOfSet(context.db.golden.baselines, use, queries.length, now),
  };
}

/** Whether something is wrong that a person should mend; size, depth of answers and live traffic are advice. */
export function hasProblems({ check, answers }: Pick<CheckedSet, 'check' | 'answers'>): boolean {
  if (answers.kind === 'answers' && answers.doubts.ids !== null) return true;
  const { labels, problems } = check;
  const { duplicates, contradictions, withoutRelevant } = problems;
  const gone = labels.kind === 'probed' ? labels.stale + labels.lost : 0;
  return gone + duplicates.length + contradictions.length + withoutRelevant.length > 0;
}

/** How one pipeline runs the set and judges it. */
export interface SetUse {
  readonly pipeline: string;
  readonly schedule: GoldenSchedule;
  /** Of the config; where there are none, the usual one on nDCG is spoken of. */
  readonly checks: readonly DropCheck[];
}

/**
 * A sentence for each check.
 *
 * @param queries of the set, which may be a newer version than the one that was pinned
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
