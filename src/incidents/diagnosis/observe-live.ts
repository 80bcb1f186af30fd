/** Reads the stored measurements of a pipeline's live traffic, now and before the alert. */

import { ALL_SEGMENT } from '../../core/model.ts';
import { DAY_MS } from '../../core/time.ts';
import { JUDGE_DRIFT } from '../../judging/judge-drift.ts';
import { LIVE_DROP } from '../../judging/measure-judged.ts';
import { dropStates } from '../../judging/rules/judged-mean.ts';
import { measuresOfScore } from '../../judging/rules/judged-measures.ts';
import type { Deployment } from '../../live/deployments/rules/deployment.ts';
import { type DropDetails, POSITIVE_RATIO } from '../../live/measure-feedback.ts';
import {
  MAIN_LANGUAGE,
  MALFORMED,
  PLAIN,
  QUERY_LENGTH,
  REPEATED_QUERIES,
  TOP_QUERY,
} from '../../live/measure-query-mix.ts';
import type { LiveWindows } from '../../live/sql/live-windows.ts';
import { wilsonInterval } from '../../math/stats/intervals.ts';
import type { LatestMeasurement, Measurements } from '../../measures/measurements.ts';
import { watchedValues } from '../../measures/watch-changes.ts';
import { allOf } from './all-of.ts';
import { CALLS_EVERY_MS, PROBES_MS } from './call-retriever.ts';
import { estimateOf, feedbackDrop, freshly, valueOf } from './live-alerts.ts';
import { IGNORED_ENDING } from './remove-words.ts';
import { LIVE_REPLAY } from './replay-live-queries.ts';
import type { ObservedRelevance } from './rules/observations.ts';
import type { ObservedFeedback, ObservedLive, ObservedReplay, ObservedValue } from './rules/observed-live.ts';
import type { WordEffects } from './rules/removed-words.ts';

/**
 * Measurements of a pipeline before and during its alerts: `opened` is the onset of the alerts, and `good` is a time
 * before the incident.
 */
export interface Around {
  readonly pipeline: string;
  readonly good: Date;
  readonly opened: Date;
  readonly measurements: Measurements;
  readonly latest: readonly LatestMeasurement[];
}

/** Returns the last good value; if there is none, the first value before the alert. */
export async function valueBefore(
  { pipeline, good, opened, measurements }: Around,
  measure: string,
): Promise<number | null> {
  const from = new Date(good.getTime() - DAY_MS);
  const values = await measurements.series({ pipeline, measure, segment: ALL_SEGMENT }, from, opened);
  const before = values.filter(({ windowEnd }) => windowEnd <= good);
  return (before.at(-1) ?? values[0])?.value ?? null;
}

export async function observeLive(windows: LiveWindows, around: Around, now: Date): Promise<ObservedLive> {
  const { latest } = around;
  const shareOf = async (measure: string) => {
    const newest = valueOf(latest, measure);
    return newest && { ...estimateOf(newest), before: await valueBefore(around, measure) };
  };
  // The normal value is learned from weeks of data, so one window that includes the fault does not distort it.
  const normalOf = new Map(
    watchedValues(latest).flatMap(({ measure, segment, range }) =>
      segment === ALL_SEGMENT ? [[measure, range.normal] as const] : [],
    ),
  );
  const besideBefore = async (measure: string): Promise<ObservedValue | null> => {
    const share = await shareOf(measure);
    const before = normalOf.get(measure) ?? share?.before ?? null;
    return share === null || before === null ? null : { ...share, before };
  };
  const feedback = async (): Promise<ObservedFeedback | null> =>
    observeDrop(latest) ??
    ofFeedback(await besideBefore(POSITIVE_RATIO), 'opinions') ??
    ofFeedback(await besideBefore('clicked_query_ratio'), 'clicks');
  return allOf({
    errors: shareOf('error_ratio'),
    empty: shareOf('zero_results_ratio'),
    latency: observeLatency(windows, around, now),
    results: besideBefore('results_per_answer'),
    characters: besideBefore('context_characters'),
    repeated: besideBefore('context_repeated_ratio'),
    topQuery: besideBefore(TOP_QUERY),
    repeatedQueries: besideBefore(REPEATED_QUERIES),
    mainLanguage: besideBefore(MAIN_LANGUAGE),
    queryLength: besideBefore(QUERY_LENGTH),
    malformed: besideBefore(MALFORMED),
    plain: besideBefore(PLAIN),
    feedback: feedback(),
    episodeCalls: besideBefore('episode_retrievals'),
    episodeRepeats: besideBefore('episode_repeats'),
    answerLike: besideBefore('rewrite_answer_ratio'),
    rewriteGain: besideBefore('rewrite_gain'),
  });
}

/** Minimum number of latencies; the 95th percentile of fewer latencies is not meaningful. */
const MIN_TIMED = 30;

/**
 * Compares the latency since the onset with the latency on the day before `good`. Reads the latency that the service
 * reports, which excludes delays in recalld.
 */
async function observeLatency(
  windows: LiveWindows,
  { pipeline, good, opened }: Around,
  until: Date,
): Promise<ObservedLive['latency']> {
  const [before, now] = await Promise.all([
    windows.latency95({ pipeline, from: new Date(good.getTime() - DAY_MS), until: good }),
    windows.latency95({ pipeline, from: opened, until }),
  ]);
  if (before === null || now === null || before.n < MIN_TIMED || now.n < MIN_TIMED) return null;
  return { before: before.ms, now: now.ms, n: now.n };
}

function ofFeedback(value: ObservedValue | null, of: ObservedFeedback['of']): ObservedFeedback | null {
  return value === null ? null : { ...value, of, isDrop: false };
}

/** Returns the drop in feedback that the change detector confirmed; null if there is none. */
function observeDrop(latest: readonly LatestMeasurement[]): ObservedFeedback | null {
  const newest = feedbackDrop(latest);
  if (newest === null) return null;
  const { baseline_positive_ratio: before, positive_ratio: value } = newest.details as DropDetails;
  const { low, high } = wilsonInterval(value, newest.n, 0.95);
  return {
    value,
    ciLow: Math.min(low, value),
    ciHigh: Math.max(high, value),
    n: newest.n,
    before,
    of: 'opinions',
    isDrop: true,
  };
}

const judgedScores = Object.values(measuresOfScore).map(([corrected]) => corrected);

/**
 * Returns what is known about judged live relevance: a drop relative to the preceding weeks or, if there is none, a
 * score below its value before the alert. Drop detection alone is not enough: it needs weeks of data, and it uses only
 * nDCG, which does not reveal queries that no document answers.
 */
export async function observeRelevance(around: Around): Promise<ObservedRelevance | null> {
  const drop = observeRelevanceDrop(around.latest);
  if (drop?.state === 'detected' || drop?.state === 'confirmed') return drop;
  for (const measure of judgedScores) {
    const newest = freshly(around.latest, measure);
    if (newest === null) continue;
    const [found, before] = [estimateOf(newest), await valueBefore(around, measure)];
    if (before !== null && found.ciHigh < before) return { ...found, state: 'below', measure, before };
  }
  return drop;
}

function observeRelevanceDrop(latest: readonly LatestMeasurement[]): ObservedRelevance | null {
  const newest = freshly(latest, LIVE_DROP);
  const state = dropStates.find((one) => one === newest?.details['state']);
  if (newest === null || state === undefined) return null;
  return { ...estimateOf(newest), state };
}

/** Returns the newest replay of live queries; null if there was none since the onset. */
export function observeReplay(around: Around): ObservedReplay | null {
  const newest = sinceOpening(around, LIVE_REPLAY);
  if (newest === null) return null;
  const { before, before_ci_low: ciLow, before_ci_high: ciHigh, before_n: n } = newest.details;
  return {
    now: estimateOf(newest),
    before: { value: Number(before), ciLow: Number(ciLow), ciHigh: Number(ciHigh), n: Number(n) },
  };
}

/** Returns the effects of removed words; null if they were not measured since the onset. */
export function observeWords(around: Around): WordEffects | null {
  return (sinceOpening(around, IGNORED_ENDING)?.details ?? null) as WordEffects | null;
}

/** Returns the newest value that recalld measured by calling the retriever during the incident. */
function sinceOpening({ latest, opened }: Around, measure: string) {
  const newest = valueOf(latest, measure);
  const isOld = newest === null || newest.measuredAt.getTime() < opened.getTime() - PROBES_MS;
  return isOld || 1000 * newest.ageSeconds > 2 * CALLS_EVERY_MS ? null : newest;
}

/** @param deployments deployments from the period when the judge may have changed */
export function observeJudge(
  latest: readonly LatestMeasurement[],
  deployments: readonly Deployment[],
): 'same' | 'changed' | null {
  if (deployments.some(({ kind, source }) => kind === 'judge' && source === 'detected')) return 'changed';
  const verdict = freshly(latest, JUDGE_DRIFT)?.details['verdict'];
  return verdict === 'steady' ? 'same' : verdict === 'changed' ? 'changed' : null;
}
