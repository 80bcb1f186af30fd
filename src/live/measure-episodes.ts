import type { Context } from '../core/context.ts';
import { HOUR_MS } from '../core/time.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import type { LivePlan } from './context.ts';
import { createTagReader, type WindowReading } from './read-live-window.ts';
import {
  type EpisodeMeasure,
  episodeMeasures,
  episodeSteps,
  estimateEpisodeMeasure,
  type SampledEpisode,
  splitByPause,
  tallyEpisode,
} from './rules/episodes.ts';
import type { ClickRateOutcome } from './rules/feedback/click-rates.ts';
import { liveSegments, valueWithin } from './rules/live-measures.ts';
import { wholeProbability } from './rules/sampling/whole-episode.ts';
import type { LiveWindow, WindowStep } from './sql/live-windows.ts';

/**
 * Retrievals are read from this long before the start of the window, so that episodes that began earlier are complete.
 */
const LOOKBACK_MS = HOUR_MS;

const counts: ReadonlySet<EpisodeMeasure> = new Set<EpisodeMeasure>(['episode_retrievals', 'episode_repeats']);

/**
 * @returns no outcomes for a pipeline that has never reported an episode, unless a check requires an episode measure
 */
export async function measureEpisodes(
  context: Context,
  plan: LivePlan,
  window: LiveWindow,
  reading: WindowReading,
  latest: readonly LatestMeasurement[],
  signal: AbortSignal,
): Promise<MeasurementOutcome[]> {
  const wasMeasured = latest.some(({ measure }) => measure === episodeMeasures[0]);
  if (reading.steps === 0 && !wasMeasured && !plan.expectsEpisodes) return [];
  const episodes = await readEpisodes(context, plan, window, reading.halvings, signal);
  const frame = {
    pipeline: plan.pipeline,
    windowStart: window.from,
    windowEnd: window.until,
    measuredAt: context.clock.now(),
    details: {},
  };
  const outcomes: MeasurementOutcome[] = [];
  for (const { name, queries: own } of liveSegments(episodes, plan.segmentKeys, plan.maxSegments)) {
    for (const measure of episodeMeasures) {
      const outcome = estimateEpisodeMeasure(measure, own);
      outcomes.push({ ...frame, segment: name, measure, ...resultOf(measure, outcome, own.length) });
    }
    await context.clock.sleep(0, signal);
  }
  return outcomes;
}

function resultOf(measure: EpisodeMeasure, outcome: ClickRateOutcome, episodes: number) {
  if (outcome.kind === 'rate') return valueWithin(outcome, counts.has(measure) ? 'sessions_t' : 'sessions_wilson');
  return { kind: 'no_data' as const, reason: gapReason(measure, outcome.have, episodes) };
}

function gapReason(measure: EpisodeMeasure, have: number, episodes: number): string {
  if (episodes === 0) return 'no_episodes';
  if (have > 0) return 'too_few_episodes';
  return measure === 'rewrite_answer_ratio' ? 'no_rewritten_queries' : 'single_retrievals';
}

interface TaggedEpisode extends SampledEpisode {
  /** Segment values of the episode's first step, for the configured segments. */
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Reads the episodes that were closed in the window: the window contains their last step and the idle time after it. A
 * step that arrives late is included in the next measurement.
 *
 * @param halvings as for `LiveWindows.steps`
 */
async function readEpisodes(
  { db, clock }: Context,
  { idleMs, segmentKeys }: LivePlan,
  { pipeline, from, until }: LiveWindow,
  halvings: number,
  signal: AbortSignal,
): Promise<readonly TaggedEpisode[]> {
  const { windows } = db.live;
  const read = { pipeline, from: new Date(from.getTime() - LOOKBACK_MS - idleMs), until };
  const levels = await windows.levels(read);
  const tagsOf = createTagReader(segmentKeys);
  const open = new Map<string, WindowStep[]>();
  const episodes: TaggedEpisode[] = [];
  const closeBefore = (now: Date): void => {
    for (const [id, steps] of open) {
      const last = steps.at(-1);
      if (last === undefined || last.occurredAt.getTime() + idleMs >= now.getTime()) continue;
      open.delete(id);
      for (const part of splitByPause(steps, idleMs)) {
        const probability = wholeProbability(part, levels, idleMs, halvings);
        const [first] = part;
        if (first === undefined || probability === null || (part.at(-1) ?? first).occurredAt < from) continue;
        const tally = tallyEpisode(episodeSteps(part));
        episodes.push({ cluster: first.cluster, probability, tally, tags: tagsOf(first.segments) });
      }
    }
  };
  for await (const batch of windows.steps(read, halvings)) {
    for (const step of batch) {
      const steps = open.get(step.episode);
      if (steps === undefined) open.set(step.episode, [step]);
      else steps.push(step);
    }
    closeBefore(batch.at(-1)?.occurredAt ?? from);
    // Yields to requests, which share this thread.
    await clock.sleep(0, signal);
  }
  closeBefore(until);
  return episodes;
}
