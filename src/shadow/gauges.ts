/** What is known of shadows -> samples of gauges. What is too old to trust is withheld. */
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { boundedSamples } from '../measures/measurements.ts';
import { ageSeconds } from '../measures/rules/measurement.ts';
import { type GaugeSample, type GaugesAt, sample } from '../metrics/meter.ts';
import { shadowVerdicts } from './rules/looks.ts';
import type { WeightedShare } from './rules/relevance.ts';
import {
  type ReadShadowDeps,
  readShadow,
  type ShadowOnJudged,
  type ShadowOnSet,
  type ShadowReport,
} from './shadow-reads.ts';

const DAY_SECONDS = 86_400;
/** A shadow is asked a set once a day. */
const TRUST_SECONDS = 3 * DAY_SECONDS;

export async function readShadowGauges(
  deps: ReadShadowDeps & { readonly pipelines: readonly WatchedPipeline[] },
): Promise<GaugesAt> {
  const reports: ShadowReport[] = [];
  for (const pipeline of deps.pipelines) {
    for (const shadow of pipeline.shadows) reports.push(await readShadow(deps, pipeline, shadow));
  }
  return (now) => reports.flatMap((report) => samplesOf(report, now));
}

function samplesOf({ pipeline, shadow, golden, live, judged }: ShadowReport, now: Date): GaugeSample[] {
  const labels = { pipeline, shadow };
  return [
    ...golden.flatMap((one) => setSamples({ ...labels, golden_set: one.goldenSet }, one, now)),
    ...(judged === null ? [] : judgedSamples(labels, judged, now)),
    ...shareSamples('recalld_shadow_overlap', labels, live.overlap),
    ...shareSamples('recalld_shadow_changed_ratio', labels, live.changed),
    sample('recalld_shadow_live_questions', labels, live.overlap?.n ?? 0),
  ];
}

function setSamples(
  labels: { readonly pipeline: string; readonly shadow: string; readonly golden_set: string },
  one: ShadowOnSet,
  now: Date,
): GaugeSample[] {
  const { verdict, by, completedAt } = one;
  const states = shadowVerdicts.map((state) =>
    sample('recalld_shadow_verdict', { ...labels, verdict: state }, state === verdict ? 1 : 0),
  );
  if (by === null || completedAt === null || ageSeconds(completedAt, now) > TRUST_SECONDS) return states;
  const { k, n, difference: value, ciLow, ciHigh } = by;
  return [
    ...states,
    ...boundedSamples('recalld_shadow_difference', { ...labels, k: String(k) }, { value, ciLow, ciHigh }),
    sample('recalld_shadow_questions', { ...labels, k: String(k) }, n),
  ];
}

function judgedSamples(
  labels: { readonly pipeline: string; readonly shadow: string },
  { k: depth, verdict, difference, queries, lastDay }: ShadowOnJudged,
  now: Date,
): GaugeSample[] {
  const states = shadowVerdicts.map((state) =>
    sample('recalld_shadow_live_verdict', { ...labels, verdict: state }, state === verdict ? 1 : 0),
  );
  const k = String(depth);
  const graded = sample('recalld_shadow_live_judged_queries', { ...labels, k }, queries);
  const isOld = lastDay === null || ageSeconds(new Date(lastDay), now) > TRUST_SECONDS + DAY_SECONDS;
  if (difference === null || isOld) return [...states, graded];
  const { value, low: ciLow, high: ciHigh } = difference;
  return [
    ...states,
    graded,
    ...boundedSamples('recalld_shadow_live_difference', { ...labels, k }, { value, ciLow, ciHigh }),
  ];
}

function shareSamples(
  name: 'recalld_shadow_overlap' | 'recalld_shadow_changed_ratio',
  labels: GaugeSample['labels'],
  share: WeightedShare | null,
): GaugeSample[] {
  if (share === null) return [];
  return boundedSamples(name, labels, { value: share.value, ciLow: share.low, ciHigh: share.high });
}
